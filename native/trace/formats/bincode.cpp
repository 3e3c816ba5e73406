// dbcop's binary histories of 2019: what Rust's bincode makes of nested structs.
//
//     id, nodes, variables, transactions, events : u64        info, start, end : String
//     Vec<Session>;  Session = Vec<Transaction>;  Transaction = { Vec<Event>, success : bool }
//     Event = { write : bool, variable : u64, value : u64, success : bool }
//
// All numbers are little-endian, lengths are u64, a bool is one byte, a string has its length before it.
// There are no lines: records are counted instead, each transaction and each event is one. What cannot be
// decoded is named by its byte.
#include "trace/formats/format.hpp"

namespace boomslang::trace {
namespace {

class Bincode final : public Format {
 public:
  explicit Bincode(bool partial_commits) : partial_commits_(partial_commits) {}

  void start(std::string_view data, Emit&) override {
    data_ = data;
    at_ = 0;
    record_ = 0;
    session_ = session_count_ = transaction_ = transaction_count_ = 0;
    partial_ = succeeded_ = 0;
    for (const char* field : {"id", "n_node", "n_variable", "n_transaction", "n_event"}) number(field);
    for (const char* field : {"info", "start", "end"}) skip_string(field);
    session_count_ = length("sessions", 8);
  }

  bool step(Emit& emit) override {
    const std::size_t until = at_ + stride;
    while (at_ < until) {
      if (transaction_ == transaction_count_) {
        if (session_ == session_count_) {
          finish(emit);
          return false;
        }
        ++session_;
        transaction_ = 0;
        transaction_count_ = length("transactions of a session", 9);
        continue;
      }
      ++transaction_;
      transaction(emit);
    }
    return true;
  }

 private:
  void transaction(Emit& emit) {
    Scalar session = session_digits_.of(session_);
    session.type = Type::text;
    const std::uint64_t events = length("events of a transaction", event_size);
    emit.begin(&session, name_digits_.of(transaction_), ++record_);
    bool whole = true;
    for (std::uint64_t i = 0; i < events; ++i) {
      const bool write = boolean("write");
      const Scalar& variable = key_digits_.of(number("variable"));
      const std::uint64_t value = number("value");
      const bool success = boolean("success");
      ++record_;
      if (!success) {
        whole = false;
        emit.failed(write ? Op::put : Op::get, &variable, "failed", record_);
      } else if (write) {
        emit.put(variable, value_digits_.of(value), record_);
      } else {
        emit.get(variable, value_digits_.of(value), record_);
      }
    }
    if (!boolean("success")) return emit.abort(record_);
    ++succeeded_;
    partial_ += !whole;
    if (whole || partial_commits_) emit.commit(record_);
  }

  void finish(Emit& emit) {
    if (at_ != data_.size())
      fault(std::to_string(data_.size() - at_) + " bytes after the last session, from byte " +
                std::to_string(at_),
            "the end of the file", "copy the file again, as a binary file");
    if (!partial_) return;
    const std::string count = emit.file() + ": " + std::to_string(partial_) + " of " +
                              std::to_string(succeeded_) +
                              " transactions that are recorded as successful hold failed operations; ";
    emit.warn(count + (partial_commits_
                           ? "they are read as committed (--format dbcop-bincode reads them as unknown)"
                           : "they are read as unknown, because a database may have rolled them back "
                             "(--format dbcop-bincode-committed reads them as committed)"));
  }

  void need(std::size_t size, const char* what) const {
    if (data_.size() - at_ < size)
      fault("the end of the file at byte " + std::to_string(data_.size()),
            std::string("the rest of ") + what + " at byte " + std::to_string(at_),
            "copy the file again: it is cut off");
  }

  std::uint64_t number(const char* what) {
    need(8, what);
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(data_[at_ + i]);
    at_ += 8;
    return value;
  }

  bool boolean(const char* what) {
    need(1, what);
    const unsigned byte = static_cast<unsigned char>(data_[at_]);
    if (byte > 1)
      fault("byte " + std::to_string(byte) + " as \"" + what + "\" at byte " + std::to_string(at_), "0 or 1",
            "check that this is a history in dbcop's binary format, and whole");
    ++at_;
    return byte;
  }

  // A length of things that take at least `size` bytes each: what does not fit into the file is nonsense.
  std::uint64_t length(const char* what, std::size_t size) {
    const std::size_t from = at_;
    const std::uint64_t count = number(what);
    if (count > (data_.size() - at_) / size)
      fault(std::to_string(count) + " as the number of " + what + " at byte " + std::to_string(from),
            "at most " + std::to_string((data_.size() - at_) / size) +
                ", which would fill the rest of the file",
            "check that this is a history in dbcop's binary format, and whole");
    return count;
  }

  void skip_string(const char* what) { at_ += length(what, 1); }

  static constexpr std::size_t event_size = 18;

  const bool partial_commits_;
  std::string_view data_;
  std::size_t at_ = 0;
  std::uint32_t record_ = 0;
  std::uint64_t session_ = 0, session_count_ = 0, transaction_ = 0, transaction_count_ = 0;
  std::uint64_t partial_ = 0, succeeded_ = 0;
  Digits session_digits_, name_digits_, key_digits_, value_digits_;
};

}  // namespace

std::unique_ptr<Format> make_bincode(std::string_view option) {
  return std::make_unique<Bincode>(option == "partial commits");
}

}  // namespace boomslang::trace
