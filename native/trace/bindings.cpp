// The Python face of the reader: no logic, only types.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <tuple>
#include <vector>

#include <unistd.h>

#include "common/binding.hpp"
#include "trace/ahead.hpp"
#include "trace/formats/format.hpp"
#include "trace/objects.hpp"
#include "trace/tables.hpp"
#include "trace/lines.hpp"
#include "trace/reader.hpp"

namespace boomslang::trace {

namespace nb = nanobind;
using namespace nb::literals;

namespace {

// NumPy takes the buffer over; free() is its only cost.
template <class As, class T>
nb::object array_as(Column<T>& column) {
  static_assert(sizeof(As) == sizeof(T));
  const std::size_t size = column.size();
  T* data = column.release();
  if (!data) data = static_cast<T*>(std::malloc(sizeof(T)));
  nb::capsule owner(data, [](void* p) noexcept { std::free(p); });
  return nb::cast(nb::ndarray<nb::numpy, As, nb::ndim<1>>(data, {size}, owner));
}

template <class T>
nb::object array(Column<T>& column) {
  return array_as<T>(column);
}

template <class T>
nb::object array_or_none(Column<T>& column) {
  return column.empty() ? nb::object(nb::none()) : array(column);
}

nb::object times(Column<std::int64_t>& wide, CloseTimes& close) {
  if (close.after.empty()) return array_or_none(wide);
  return nb::make_tuple(array(close.base), array(close.after));
}

nb::tuple table(Interner& interner, int jobs) {
  Column<std::uint8_t> type;
  if (interner.data.size() < (1u << 31) - 64) {  // with some room: those who use them add to them
    Column<std::int32_t> narrow;
    interner.split(type, narrow, jobs);
    return nb::make_tuple(array(type), array(narrow), array(interner.data));
  }
  Column<std::uint64_t> offset;  // below 2^61, so the same as signed ones
  interner.split(type, offset, jobs);
  return nb::make_tuple(array(type), array_as<std::int64_t>(offset), array(interner.data));
}

nb::list strings(const Interner& interner) {
  nb::list list;
  for (std::size_t i = 0; i < interner.size(); ++i) {
    const Scalar s = interner[static_cast<std::int32_t>(i)];
    list.append(nb::str(s.data, s.size));
  }
  return list;
}

// Others' formats, file by file, into one history.
class FormatReader {
 public:
  FormatReader(const std::string& format, const std::string& option)
      : format_(make_format(format, option)), emit_(history) {
    if (!format_) throw std::invalid_argument("no native format " + format);
  }
  void begin_file(const std::string& name, const std::string* session) {
    emit_.begin_file(name, session);
    data_.clear();
    complete_ = false;
    format_->begin();
  }
  // Reads one block. False at the end of the file.
  bool read(int descriptor) {
    const std::size_t before = data_.size();
    data_.resize(before + block + Format::slack);
    const ssize_t got = ::read(descriptor, data_.data() + before, block);
    data_.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0) {
      if (errno == EINTR) return true;  // the caller looks for signals before it calls again
      throw std::system_error(errno, std::generic_category(), "reading " + emit_.file());
    }
    take(before);
    return got > 0;
  }
  void feed(const char* data, std::size_t size) {
    const std::size_t before = data_.size();
    data_.append(data, size);
    take(before);
  }
  // After the last block.
  bool step() {
    bool more = false;
    guard([&] {
      if (!complete_) {
        const std::size_t size = padded();  // may move the data
        format_->start({data_.data(), size}, emit_);
        complete_ = true;
      }
      more = format_->step(emit_);
    });
    return more;
  }
  bool finish_step() {
    data_.discard();
    return history.finish_step();
  }

  History history;

 private:
  static constexpr std::size_t block = 1u << 20;

  // Past the data there are zeros.
  std::size_t padded() {
    const std::size_t size = data_.size();
    data_.pad(size + Format::slack, '\0');
    data_.resize(size);
    return size;
  }

  // There are bytes that the format has not seen, from `fresh` on: give it what it can read of them.
  void take(std::size_t fresh) {
    if (!format_->takes_lines() || fresh == data_.size()) return;
    std::size_t end = data_.size();
    while (end > fresh && data_[end - 1] != '\n') --end;
    if (end == fresh) return;
    const std::size_t size = padded();
    guard([&] { format_->lines({data_.data(), end}, emit_); });
    std::memmove(data_.data(), data_.data() + end, size - end);
    data_.resize(size - end);
  }

  template <class F>
  void guard(F&& work) {
    try {
      work();
    } catch (Fault& f) {
      if (f.file.empty()) f.file = emit_.file();
      throw;
    }
  }

  std::unique_ptr<Format> format_;
  Emit emit_;
  Column<char> data_;  // all of the file, or what follows the last whole line
  bool complete_ = false;
};

// Parsed lines, and the text that they point into.
struct Kept {
  explicit Kept(nb::bytes text) : text(std::move(text)) {}
  Kept(const Kept&) = delete;
  ParsedLines parsed;
  nb::bytes text;
};

nb::dict columns(History& h, int jobs) {
  nb::dict d;
  d["keys"] = table(h.keys, jobs);
  d["values"] = table(h.values, jobs);
  d["names"] = table(h.names, jobs);
  d["texts"] = table(h.texts, jobs);
  d["key_rank"] = array(h.key_rank);
  d["sessions"] = strings(h.sessions);
  d["clocks"] = strings(h.clocks);
  d["files"] = h.files;
  d["warnings"] = h.warnings;
  d["unit"] = h.unit;
  d["notes"] = h.notes;
  d["txn_session"] = array(h.txn_session);
  d["txn_outcome"] = array(h.txn_outcome);
  d["txn_name"] = array(h.txn_name);
  d["txn_file"] = array(h.txn_file);
  d["txn_begin_line"] = array(h.txn_begin_line);
  d["txn_end_line"] = array(h.txn_end_line);
  d["txn_begin"] = array(h.txn_begin);
  d["txn_end"] = array(h.txn_end);
  d["txn_clock"] = array(h.txn_clock);
  d["txn_ops"] = array(h.txn_ops);
  d["txn_ctx"] = array_or_none(h.txn_ctx);
  d["op_kind"] = array(h.op_kind);
  d["op_flags"] = array(h.op_flags);
  d["op_key"] = array(h.op_key);
  d["op_value"] = array(h.op_value);
  d["op_range"] = array_or_none(h.op_range);
  d["op_line"] = array(h.op_line);
  d["op_invoke"] = times(h.op_invoke, h.close_invoke);
  d["op_return"] = times(h.op_return, h.close_return);
  d["op_ctx"] = array_or_none(h.op_ctx);
  d["op_error"] = array_or_none(h.op_error);
  d["op_where"] = array_or_none(h.op_where);
  d["range_lo"] = array(h.range_lo);
  d["range_hi"] = array(h.range_hi);
  d["range_items"] = array(h.range_items);
  d["item_key"] = array(h.item_key);
  d["item_value"] = array(h.item_value);
  d["initial_mode"] = static_cast<int>(h.initial_mode);
  d["initial_key"] = array(h.initial_key);
  d["initial_value"] = array(h.initial_value);
  return d;
}

void raise_fault(const Fault& f) {
  nb::object error = nb::module_::import_("boomslang.trace.errors").attr("TraceError");
  const std::string message = "found " + f.found + "; expected " + f.expected + "; fix: " + f.fix;
  nb::object value = error(nb::str(message.data(), message.size()), f.file, f.line);
  PyErr_SetObject(error.ptr(), value.ptr());
}

}  // namespace

void bind(nb::module_ m) {
  m.doc() = "The native trace reader; see reader.py for how it is driven.";
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Fault& f) {
      raise_fault(f);
    } catch (const std::system_error& e) {
      PyErr_SetString(PyExc_OSError, e.what());
    }
  });
  nb::class_<Reader>(m, "Reader")
      .def(nb::init<int, std::size_t, bool>(), "jobs"_a = 1, "block"_a = Reader::usual_block, "shapes"_a = true)
      .def(
          "begin_file",
          [](Reader& r, const std::string& name, std::optional<std::string> session,
             std::uint32_t first_line) { r.begin_file(name, session ? &*session : nullptr, first_line); },
          "name"_a, "session"_a.none(), "first_line"_a = 1)
      .def("read", &Reader::read, "descriptor"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("read_on", &Reader::read_on, "descriptor"_a, nb::call_guard<nb::gil_scoped_release>())
      .def("stop", &Reader::stop)
      .def(
          "feed",
          [](Reader& r, nb::bytes data) {
            nb::gil_scoped_release release;
            r.feed(static_cast<const char*>(data.data()), data.size());
          },
          "data"_a)
      .def(
          "borrow",
          [](Reader& r, nb::bytes data) {
            nb::gil_scoped_release release;
            r.borrow(static_cast<const char*>(data.data()), data.size());
          },
          "data"_a)
      .def(
          "take",
          [](Reader& r, Kept& kept) {
            nb::gil_scoped_release release;
            r.take(kept.parsed, static_cast<const char*>(kept.text.data()), kept.text.size());
          },
          "parsed"_a)
      .def("end_file", &Reader::end_file, nb::call_guard<nb::gil_scoped_release>())
      .def("settle", &Reader::settle, nb::call_guard<nb::gil_scoped_release>())
      .def("files", &Reader::files)
      .def("start_midway", [](Reader& r) { r.history.midway = true; })
      .def("strays", [](const Reader& r) { return r.history.strays; })
      .def("loads",
           [](const Reader& r) {
             std::vector<std::tuple<std::int32_t, std::uint32_t, std::uint32_t>> found;
             for (const History::Load& load : r.history.loads)
               found.emplace_back(load.file, load.begin_line, load.end_line);
             return found;
           })
      .def("initial_by", [](const Reader& r) { return r.history.initial_by(); })
      .def("goes_on", [](Reader& r, std::size_t load) { r.history.loads.at(load).goes_on = true; }, "load"_a)
      .def("finish_step", &Reader::finish_step, nb::call_guard<nb::gil_scoped_release>())
      .def("columns", [](Reader& r) { return columns(r.history, r.jobs()); });
  nb::class_<Kept>(m, "ParsedLines")
      .def_prop_ro("lines", [](const Kept& kept) { return kept.parsed.lines; })
      .def_prop_ro("text", [](const Kept& kept) { return kept.text; });
  nb::class_<Ahead>(m, "Ahead").def(nb::init<std::size_t>(), "block"_a = Slice::usual_size).def(
      "parse",
      [](Ahead& ahead, nb::bytes text) {
        auto kept = std::make_unique<Kept>(text);
        nb::gil_scoped_release release;
        kept->parsed = ahead.parse(static_cast<const char*>(text.data()), text.size());
        return kept;
      },
      "text"_a);
  nb::class_<FormatReader>(m, "FormatReader")
      .def(nb::init<const std::string&, const std::string&>(), "format"_a, "option"_a = "")
      .def(
          "begin_file",
          [](FormatReader& r, const std::string& name, std::optional<std::string> session) {
            r.begin_file(name, session ? &*session : nullptr);
          },
          "name"_a, "session"_a.none())
      .def("read", &FormatReader::read, "descriptor"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "feed",
          [](FormatReader& r, nb::bytes data) {
            nb::gil_scoped_release release;
            r.feed(static_cast<const char*>(data.data()), data.size());
          },
          "data"_a)
      .def("step", &FormatReader::step, nb::call_guard<nb::gil_scoped_release>())
      .def("finish_step", &FormatReader::finish_step, nb::call_guard<nb::gil_scoped_release>())
      .def("columns", [](FormatReader& r) { return columns(r.history, 1); });
  using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
  m.def(
      "count_lines",
      [](nb::bytes text) {
        nb::gil_scoped_release release;
        return count_lines({static_cast<const char*>(text.data()), text.size()});
      },
      "text"_a);
  m.def(
      "picked_lines",
      [](const std::vector<nb::bytes>& parts, Numbers chosen) {
        std::vector<std::string_view> texts;
        for (const nb::bytes& part : parts) texts.emplace_back(static_cast<const char*>(part.data()), part.size());
        std::string found;
        {
          nb::gil_scoped_release release;
          found = picked_lines(texts, {chosen.data(), chosen.size()});
        }
        return nb::bytes(found.data(), found.size());
      },
      "parts"_a, "chosen"_a);
  m.def(
      "whole_lines",
      [](nb::bytes rest, nb::bytes more) {
        const auto* const text = static_cast<const char*>(more.data());
        std::size_t end = more.size();
        while (end && text[end - 1] != '\n') --end;
        if (!end) return nb::make_tuple(nb::bytes("", 0), nb::bytes(rest + more));
        PyObject* lines = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(rest.size() + end));
        if (!lines) throw nb::python_error();
        char* const into = PyBytes_AsString(lines);
        {
          nb::gil_scoped_release release;
          std::memcpy(into, rest.data(), rest.size());
          std::memcpy(into + rest.size(), text, end);
        }
        return nb::make_tuple(nb::steal<nb::bytes>(lines), nb::bytes(text + end, more.size() - end));
      },
      "rest"_a, "more"_a);
  m.def(
      "not_surely_objects",
      [](Numbers offset, Bytes data, Numbers ids) {
        return not_surely_objects({offset.data(), offset.size()}, {data.data(), data.size()},
                                  {ids.data(), ids.size()});
      },
      "offset"_a, "data"_a, "ids"_a);
  m.def(
      "integers",
      [](Numbers offset, Bytes data, std::int64_t digits) -> nb::object {
        auto numbers = integers({offset.data(), offset.size()}, {data.data(), data.size()}, digits);
        return numbers ? out(std::move(*numbers)) : nb::object(nb::none());
      },
      "offset"_a, "data"_a, "digits"_a);
  m.def(
      "alike", [](Numbers numbers) { return out(alike({numbers.data(), numbers.size()})); }, "numbers"_a);
}

}  // namespace boomslang::trace
