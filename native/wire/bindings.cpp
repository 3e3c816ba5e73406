// The binding: bytes in, records out. No logic lives here.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "wire/relay.hpp"
#include "wire/whole.hpp"

namespace boomslang::wire {

namespace nb = nanobind;

namespace {
std::string text(const nb::bytes& b) { return {b.c_str(), b.size()}; }

std::string_view text_of(const nb::bytes& b) { return {b.c_str(), b.size()}; }

nb::bytes bytes(std::string_view found) { return nb::bytes(found.data(), found.size()); }

nb::object maybe(const std::optional<std::string_view>& found) { return found ? nb::object(bytes(*found)) : nb::none(); }

nb::tuple tuple_of(const std::vector<Value>& values) {
    nb::tuple made = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(values.size())));
    Py_ssize_t place = 0;
    for (const Value& v : values) NB_TUPLE_SET_ITEM(made.ptr(), place++, maybe(v).release().ptr());
    return made;
}

nb::tuple numbers(const std::vector<int>& found) {
    nb::tuple made = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
    Py_ssize_t place = 0;
    for (const int n : found) NB_TUPLE_SET_ITEM(made.ptr(), place++, nb::int_(n).release().ptr());
    return made;
}

// (text,) of a Query; else (statement, formats, values, results, describes, the body of a Parse).
nb::object request_of(const nb::bytes& data) {
    const auto found = postgres_request(text_of(data));
    if (!found) return nb::none();
    if (found->simple) return nb::make_tuple(bytes(found->text));
    return nb::make_tuple(bytes(found->statement), numbers(found->formats), tuple_of(found->values),
                          numbers(found->results), found->describes, maybe(found->parse));
}

// (parsed, bound, described, the body of a RowDescription, rows, tag, status)
nb::object answer_of(const nb::bytes& data) {
    const auto found = postgres_answer(text_of(data));
    if (!found) return nb::none();
    nb::list rows;
    for (const auto& row : found->rows) rows.append(tuple_of(row));
    return nb::make_tuple(found->parsed, found->bound, found->described, maybe(found->columns), rows, bytes(found->tag),
                          bytes(found->status));
}

// (OK or None, the definitions of columns, rows, the end, the number of the last message)
nb::object mysql_answer_of(const nb::bytes& data, bool ends_columns) {
    const auto found = mysql_answer(text_of(data), ends_columns);
    if (!found) return nb::none();
    nb::list columns, rows;
    for (const auto& one : found->columns) columns.append(bytes(one));
    for (const auto& one : found->rows) rows.append(bytes(one));
    return nb::make_tuple(found->ok.empty() ? nb::none() : nb::object(bytes(found->ok)), nb::tuple(columns), rows,
                          bytes(found->end), found->last);
}

nb::object literals_of(const nb::bytes& data) {
    const auto found = literals(text_of(data));
    if (!found) return nb::none();
    nb::list made;
    for (const auto& one : found->literals) made.append(bytes(one));
    return nb::make_tuple(bytes(found->skeleton), made);
}
}  // namespace

void bind(nb::module_ m) {
    m.def("skeleton", [](nb::bytes data) {
        const std::string made = skeleton('Q', text(data));
        return nb::bytes(made.data(), made.size());
    });
    m.def("postgres_request", &request_of);
    m.def("postgres_answer", &answer_of);
    m.def("mysql_answer", &mysql_answer_of, nb::arg("data"), nb::arg("ends_columns"));
    m.def("mysql_text_row", [](const nb::bytes& row) {
        const auto found = mysql_text_row(text_of(row));
        return found ? nb::object(tuple_of(*found)) : nb::none();
    });
    m.def("literals", &literals_of);
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

}  // namespace boomslang::wire
