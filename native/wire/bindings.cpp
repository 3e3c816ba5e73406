// The binding: bytes in, records out. No logic lives here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "wire/relay.hpp"

namespace nb = nanobind;
using namespace boomslang::wire;

namespace {
std::string text(const nb::bytes& b) { return {b.c_str(), b.size()}; }
}  // namespace

NB_MODULE(_relay, m) {
    m.def("skeleton", [](nb::bytes data) {
        const std::string made = skeleton('Q', text(data));
        return nb::bytes(made.data(), made.size());
    });
    nb::class_<Relay>(m, "NativeRelay")
        .def("__init__", [](Relay* self, int listener, const std::vector<std::pair<std::string, int>>& server, bool mysql,
                            int spool, size_t most_waiting) {
            std::vector<Place> places;
            for (const auto& [host, port] : server) places.push_back({host, static_cast<uint16_t>(port)});
            new (self) Relay(listener, places, mysql ? Protocol::MYSQL : Protocol::POSTGRES, spool, most_waiting);
        }, nb::arg("listener"), nb::arg("server"), nb::arg("mysql"), nb::arg("spool"), nb::arg("most_waiting"))
        .def("run", &Relay::run, nb::call_guard<nb::gil_scoped_release>())
        .def("take", [](Relay& relay, size_t most, int milliseconds) {
            std::vector<Record> taken;
            {
                nb::gil_scoped_release free;
                taken = relay.take(most, milliseconds);
            }
            nb::list found;
            for (const Record& r : taken)
                found.append(nb::make_tuple(r.connection, static_cast<int>(r.kind), r.forwarded, r.number, r.time,
                                            nb::bytes(r.data.data(), r.data.size())));
            return found;
        })
        .def("send", [](Relay& relay, uint32_t c, bool to_server, nb::bytes data) { relay.send(c, to_server, text(data)); })
        .def("keep", [](Relay& relay, nb::bytes data) { relay.keep(text(data)); })
        .def("close", &Relay::close)
        .def("hold", &Relay::hold)
        .def("fast", &Relay::fast)
        .def("know", [](Relay& relay, nb::bytes kind, nb::bytes data) { relay.know(kind.c_str()[0], text(data)); })
        .def("know_statement", &Relay::know_statement)
        .def("slow", &Relay::slow)
        .def("drain", &Relay::drain)
        .def("quit", &Relay::quit)
        .def_prop_ro("waiting", &Relay::waiting)
        .def_prop_ro("forwarded", &Relay::forwarded);
}
