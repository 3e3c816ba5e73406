// The binding: arrays in, arrays out. No logic lives here.
#include <nanobind/stl/optional.h>

#include <optional>

#include "common/binding.hpp"
#include "live.hpp"
#include "replay.hpp"
#include "written.hpp"

namespace boomslang::stream {

namespace {

using Bytes = In<uint8_t>;

Table table(const Bytes& type, const In<int64_t>& offset, const Bytes& data) { return {view(type), view(offset), view(data)}; }

std::string_view text(const nb::bytes& b) { return {b.c_str(), b.size()}; }

nb::object value_of(const Cell& cell) {
    if (cell.absent) return nb::none();
    return nb::bytes(cell.value.data(), cell.value.size());
}

}  // namespace

void bind(nb::module_ m) {
    nb::class_<Undo>(m, "Undo");
    nb::class_<Live>(m, "Live")
        .def(nb::init<>())
        .def("__len__", &Live::known)
        .def("given", [](const Live& live, Bytes kt, In<int64_t> ko, Bytes kd, Bytes vt, In<int64_t> vo, Bytes vd) {
            std::vector<int32_t> ids, held;
            {
                nb::gil_scoped_release release;
                live.given(table(kt, ko, kd), table(vt, vo, vd), ids, held);
            }
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
    m.def("replay", [](nb::args given, nb::kwargs named) {
        Arguments a(given, named);
        const auto points = a.next<int>("points");
        const auto apart = a.next<bool>("apart");
        const auto read_start = a.next<In<int64_t>>("read_start");
        const auto read_key = a.next<In<int32_t>>("read_key"), read_value = a.next<In<int32_t>>("read_value");
        const auto key_start = a.next<In<int64_t>>("key_start");
        const auto write_txn = a.next<In<int32_t>>("write_txn"), write_value = a.next<In<int32_t>>("write_value"),
                   initial = a.next<In<int32_t>>("initial");
        const auto pinned = a.next<Bytes>("pinned");
        const auto order = a.next<In<int64_t>>("order");
        a.end();
        Window window;
        window.points = points, window.apart = apart;
        window.keys = int32_t(key_start.shape(0)) - 1, window.txns = int32_t(read_start.shape(0)) - 1;
        window.read_start = view(read_start), window.read_key = view(read_key), window.read_value = view(read_value);
        window.key_start = view(key_start), window.write_txn = view(write_txn), window.write_value = view(write_value);
        window.initial = view(initial), window.pinned = view(pinned);
        Replayed found;
        {
            nb::gil_scoped_release release;
            found = replay(window, view(order));
        }
        return nb::make_tuple(int(found.problem), out(std::move(found.seen)), out(std::move(found.last)),
                              out(std::move(found.first)), out(std::move(found.early)), out(std::move(found.late)));
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

}  // namespace boomslang::stream
