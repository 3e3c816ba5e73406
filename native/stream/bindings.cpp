// The binding: arrays in, arrays out. No logic lives here.
#include <nanobind/stl/optional.h>

#include <optional>

#include "common/binding.hpp"
#include "live.hpp"
#include "written.hpp"

using namespace boomslang;

namespace {

using Bytes = In<uint8_t>;

Table table(const Bytes& type, const In<int64_t>& offset, const Bytes& data) { return {view(type), view(offset), view(data)}; }

std::string_view text(const nb::bytes& b) { return {b.c_str(), b.size()}; }

nb::object value_of(const Cell& cell) {
    if (cell.absent) return nb::none();
    return nb::bytes(cell.value.data(), cell.value.size());
}

}  // namespace

NB_MODULE(_live, m) {
    nb::class_<Undo>(m, "Undo");
    nb::class_<Live>(m, "Live")
        .def(nb::init<>())
        .def("__len__", &Live::known)
        .def("given", [](const Live& live, Bytes kt, In<int64_t> ko, Bytes kd, Bytes vt, In<int64_t> vo, Bytes vd) {
            std::vector<int32_t> ids, held;
            live.given(table(kt, ko, kd), table(vt, vo, vd), ids, held);
            return nb::make_tuple(out(std::move(ids)), out(std::move(held)));
        })
        .def("update", [](Live& live, Bytes kt, In<int64_t> ko, Bytes kd, Bytes vt, In<int64_t> vo, Bytes vd,
                          In<int32_t> ids, In<int32_t> held, In<int64_t> writer, In<int64_t> at, bool fresh) {
            return live.update(table(kt, ko, kd), table(vt, vo, vd), view(ids), view(held), view(writer), view(at), fresh);
        })
        .def("undo", &Live::undo)
        .def("get", [](const Live& live, nb::bytes key) -> nb::object {
            const Cell* cell = live.find(text(key));
            if (cell == nullptr) return nb::none();
            return nb::make_tuple(value_of(*cell), cell->writer, cell->at);
        })
        .def("set", [](Live& live, nb::bytes key, std::optional<nb::bytes> value, int64_t writer, int64_t at) {
            Cell cell;
            cell.absent = !value, cell.writer = writer, cell.at = at;
            if (value) cell.value = text(*value);
            live.set(text(key), std::move(cell));
        }, nb::arg("key"), nb::arg("value").none(), nb::arg("writer"), nb::arg("at"))
        .def("present", [](const Live& live) {
            nb::list found;
            live.each([&](const std::string& key, const Cell& cell) {
                if (!cell.absent) found.append(nb::make_tuple(nb::bytes(key.data(), key.size()), value_of(cell)));
            });
            return found;
        })
        .def("everything", [](const Live& live) {
            nb::list found;
            live.each([&](const std::string& key, const Cell& cell) {
                found.append(nb::make_tuple(nb::bytes(key.data(), key.size()), value_of(cell), cell.writer, cell.at));
            });
            return found;
        });
    nb::class_<Written>(m, "Written")
        .def(nb::init<int>())
        .def("add", [](Written& written, Bytes kt, In<int64_t> ko, Bytes kd, Bytes vt, In<int64_t> vo, Bytes vd,
                       In<int32_t> ids, In<int32_t> held) {
            written.add(table(kt, ko, kd), table(vt, vo, vd), view(ids), view(held));
        })
        .def("perhaps", [](const Written& written, Bytes kt, In<int64_t> ko, Bytes kd, Bytes vt, In<int64_t> vo, Bytes vd,
                           In<int32_t> ids, In<int32_t> held) {
            return out(written.perhaps(table(kt, ko, kd), table(vt, vo, vd), view(ids), view(held)));
        });
}
