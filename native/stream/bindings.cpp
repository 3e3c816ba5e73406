// The binding: arrays in, arrays out. No logic lives here.
#include <nanobind/stl/optional.h>

#include <optional>

#include "common/binding.hpp"
#include "live.hpp"
#include "replay.hpp"
#include "written.hpp"

namespace boomslang::stream {

namespace {

// The scalars of a trace: of each its type, where its bytes begin, and all bytes.
Table table(Arguments& a) {
    const auto type = a.array<uint8_t>("type");
    const auto offset = a.array<int64_t>("offset");
    return {type, offset, a.array<uint8_t>("data")};
}

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
        .def(nb::init<const Live&>())
        .def("__len__", &Live::known)
        .def("given", [](const Live& live, nb::args given, nb::kwargs named) {
            Arguments a(given, named);
            const Table keys = table(a), values = table(a);
            a.end();
            std::vector<int32_t> ids, held;
            {
                nb::gil_scoped_release release;
                live.given(keys, values, ids, held);
            }
            return nb::make_tuple(out(std::move(ids)), out(std::move(held)));
        })
        .def("update", [](Live& live, nb::args given, nb::kwargs named) {
            Arguments a(given, named);
            const Table keys = table(a), values = table(a);
            const auto ids = a.array<int32_t>("ids"), held = a.array<int32_t>("held");
            const auto writer = a.array<int64_t>("writer"), at = a.array<int64_t>("at");
            const auto fresh = a.next<bool>("fresh");
            a.end();
            return live.update(keys, values, ids, held, writer, at, fresh);
        })
        .def("undo", &Live::undo)
        .def("forget_absent", &Live::forget_absent, nb::arg("before"))
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
        const auto read_start = a.array<int64_t>("read_start");
        const auto read_key = a.array<int32_t>("read_key"), read_value = a.array<int32_t>("read_value");
        const auto key_start = a.array<int64_t>("key_start");
        const auto write_txn = a.array<int32_t>("write_txn"), write_value = a.array<int32_t>("write_value"),
                   initial = a.array<int32_t>("initial");
        const auto pinned = a.array<uint8_t>("pinned");
        const auto order = a.array<int64_t>("order");
        a.end();
        Window window;
        window.points = points, window.apart = apart;
        window.keys = int32_t(key_start.size()) - 1, window.txns = int32_t(read_start.size()) - 1;
        window.read_start = read_start, window.read_key = read_key, window.read_value = read_value;
        window.key_start = key_start, window.write_txn = write_txn, window.write_value = write_value;
        window.initial = initial, window.pinned = pinned;
        Replayed found;
        {
            nb::gil_scoped_release release;
            found = replay(window, order);
        }
        return nb::make_tuple(int(found.problem), out(std::move(found.seen)), out(std::move(found.last)),
                              out(std::move(found.first)), out(std::move(found.early)), out(std::move(found.late)),
                              out(std::move(found.matters)));
    });
    nb::class_<Written>(m, "Written")
        .def(nb::init<int>())
        .def("add", [](Written& written, nb::args given, nb::kwargs named) {
            Arguments a(given, named);
            const Table keys = table(a), values = table(a);
            const auto ids = a.array<int32_t>("ids"), held = a.array<int32_t>("held");
            a.end();
            written.add(keys, values, ids, held);
        })
        .def("perhaps", [](const Written& written, nb::args given, nb::kwargs named) {
            Arguments a(given, named);
            const Table keys = table(a), values = table(a);
            const auto ids = a.array<int32_t>("ids"), held = a.array<int32_t>("held");
            a.end();
            return out(written.perhaps(keys, values, ids, held));
        });
}

}  // namespace boomslang::stream
