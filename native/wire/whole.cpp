#include "wire/whole.hpp"

#include <algorithm>
#include <cstddef>

#include "wire/plain.hpp"

namespace boomslang::wire {

namespace {

constexpr size_t LARGEST_HELD = 1 << 20;  // as Frames of record/wire/postgres/messages.py holds
constexpr size_t FULL_PACKET = 0xFFFFFF;
constexpr size_t MOST_KEPT_ROWS = 1000;   // more are for the long way, which knows when it is too much
constexpr unsigned char ROWS_END = 0xFE, IS_ERROR = 0xFF, IS_FILE = 0xFB, IS_NULL = 0xFB;

// Bytes that are read one after the other; `good` is false once there were fewer than wanted.
struct Cursor {
    std::string_view data;
    size_t at = 0;
    bool good = true;

    std::string_view take(size_t size) {
        if (!good || size > data.size() - at) {
            good = false;
            return {};
        }
        at += size;
        return data.substr(at - size, size);
    }
    uint32_t big(int bytes) {
        uint32_t made = 0;
        for (const char c : take(static_cast<size_t>(bytes))) made = made << 8 | static_cast<unsigned char>(c);
        return made;
    }
    uint64_t little(int bytes) {
        uint64_t made = 0;
        int place = 0;
        for (const char c : take(static_cast<size_t>(bytes)))
            made |= uint64_t(static_cast<unsigned char>(c)) << (8 * place++);
        return made;
    }
    std::string_view until_zero() {
        const size_t end = good ? data.find('\0', at) : data.npos;
        if (end == data.npos) {
            good = false;
            return {};
        }
        const std::string_view found = data.substr(at, end - at);
        at = end + 1;
        return found;
    }
    bool done() const { return good && at == data.size(); }
};

struct Message {
    char letter;
    std::string_view body;
};

std::optional<Message> next(Cursor& from) {
    const std::string_view letter = from.take(1);
    const uint32_t size = from.big(4);
    if (!from.good || size < 4 || size > LARGEST_HELD) return {};
    const std::string_view body = from.take(size - 4);
    if (!from.good) return {};
    return Message{letter[0], body};
}

bool read_numbers(Cursor& from, std::vector<int>& to) {
    const uint32_t count = from.big(2);
    for (uint32_t n = 0; n < count && from.good; ++n) to.push_back(static_cast<int16_t>(from.big(2)));
    return from.good;
}

bool read_values(Cursor& from, std::vector<Value>& to) {
    const uint32_t count = from.big(2);
    for (uint32_t n = 0; n < count && from.good; ++n) {
        const auto size = static_cast<int32_t>(from.big(4));
        if (size < 0) to.push_back({});
        else to.push_back(from.take(static_cast<size_t>(size)));
    }
    return from.good;
}

std::optional<std::string_view> packet(Cursor& from, int& number) {
    const uint64_t size = from.little(3);
    const uint64_t found = from.little(1);
    if (!from.good || size == 0 || size == FULL_PACKET || int(found) != ((number + 1) & 0xFF)) return {};
    number = int(found);
    const std::string_view body = from.take(size);
    if (!from.good) return {};
    return body;
}

// A length of MySQL's; -1 is NULL.
int64_t length(Cursor& from) {
    const uint64_t first = from.little(1);
    if (!from.good || first < IS_NULL) return static_cast<int64_t>(first);
    if (first == IS_NULL) return -1;
    if (first == 0xFF) {
        from.good = false;
        return 0;
    }
    return static_cast<int64_t>(from.little(first == 0xFC ? 2 : first == 0xFD ? 3 : 8));
}

bool begins_with(std::string_view data, unsigned char c) { return static_cast<unsigned char>(data[0]) == c; }

}  // namespace

std::optional<PostgresRequest> postgres_request(std::string_view data) {
    Cursor all{data};
    PostgresRequest made;
    auto message = next(all);
    if (!message) return {};
    if (message->letter == 'Q') {
        if (!all.done() || message->body.empty() || message->body.find('\0') != message->body.size() - 1) return {};
        made.simple = true;
        made.text = message->body.substr(0, message->body.size() - 1);
        return made;
    }
    if (message->letter == 'P') {
        made.parse = message->body;
        if (!(message = next(all))) return {};
    }
    if (message->letter != 'B') return {};
    Cursor bind{message->body};
    if (!bind.until_zero().empty()) return {};  // a portal with a name may be executed again
    made.statement = bind.until_zero();
    if (!read_numbers(bind, made.formats) || !read_values(bind, made.values) || !read_numbers(bind, made.results) ||
        !bind.done())
        return {};
    if (!(message = next(all))) return {};
    if (message->letter == 'D') {
        if (message->body != std::string_view("P\0", 2)) return {};
        made.describes = true;
        if (!(message = next(all))) return {};
    }
    if (message->letter != 'E' || message->body != std::string_view("\0\0\0\0\0", 5)) return {};
    if (!(message = next(all)) || message->letter != 'S' || !message->body.empty() || !all.done()) return {};
    return made;
}

std::optional<PostgresAnswer> postgres_answer(std::string_view data) {
    Cursor all{data};
    PostgresAnswer made;
    auto message = next(all);
    if (message && message->letter == '1') made.parsed = true, message = next(all);
    if (message && message->letter == '2') made.bound = true, message = next(all);
    if (message && (message->letter == 'T' || message->letter == 'n')) {
        made.described = true;
        if (message->letter == 'T') made.columns = message->body;
        message = next(all);
    }
    while (message && message->letter == 'D') {
        Cursor row{message->body};
        made.rows.emplace_back();
        if (!read_values(row, made.rows.back()) || made.rows.size() > MOST_KEPT_ROWS) return {};
        message = next(all);
    }
    if (!message || message->letter != 'C' || message->body.empty()) return {};
    made.tag = message->body.substr(0, message->body.size() - 1);
    message = next(all);
    if (!message || message->letter != 'Z' || message->body.size() != 1 || !all.done()) return {};
    made.status = message->body;
    if (made.status != "I" && made.status != "T") return {};
    return made;
}

std::optional<MySQLAnswer> mysql_answer(std::string_view data, bool ends_columns) {
    Cursor all{data};
    MySQLAnswer made;
    auto body = packet(all, made.last);
    if (!body || begins_with(*body, ROWS_END) || begins_with(*body, IS_ERROR) || begins_with(*body, IS_FILE)) return {};
    if (begins_with(*body, 0)) {
        made.ok = *body;
        if (!all.done()) return {};
        return made;
    }
    Cursor first{*body};
    const int64_t count = length(first);
    if (!first.done() || count < 1 || count > 4096) return {};
    for (int64_t n = 0; n < count; ++n) {
        if (!(body = packet(all, made.last)) || begins_with(*body, IS_ERROR) || begins_with(*body, ROWS_END)) return {};
        made.columns.push_back(*body);
    }
    if (ends_columns && (!(body = packet(all, made.last)) || !begins_with(*body, ROWS_END) || body->size() > 8)) return {};
    while ((body = packet(all, made.last))) {
        if (begins_with(*body, IS_ERROR)) return {};
        if (begins_with(*body, ROWS_END)) {
            made.end = *body;
            // A row could begin so too, with a value of a length that is told in eight bytes: never as short as that.
            if (!all.done() || body->size() > 1024) return {};
            return made;
        }
        made.rows.push_back(*body);
        if (made.rows.size() > MOST_KEPT_ROWS) return {};
    }
    return {};
}

std::optional<std::vector<Value>> mysql_text_row(std::string_view row) {
    Cursor all{row};
    std::vector<Value> made;
    while (all.good && all.at < row.size()) {
        const int64_t size = length(all);
        if (size < 0) made.push_back({});
        else made.push_back(all.take(static_cast<size_t>(size)));
    }
    if (!all.good) return {};
    return made;
}

std::optional<Literals> literals(std::string_view text) {
    Literals made;
    made.skeleton = skeleton('Q', text, &made.literals);
    if (made.skeleton.size() > 1 && made.skeleton[1] == '=') return {};
    // 'a''b' is one string, and looks like two; a mark of the text's own looks like one that stands for a literal.
    if (made.skeleton.find("''") != made.skeleton.npos) return {};
    if (std::ranges::count(made.skeleton, '?') != static_cast<std::ptrdiff_t>(made.literals.size())) return {};
    for (const std::string_view one : made.literals) {
        const bool is_string = one.front() == '\'';
        if (one.size() > (is_string ? 4096u : 18u)) return {};
        for (const char c : one) {
            if (static_cast<unsigned char>(c) >= 0x80) return {};
            if (!is_string && c == '.') return {};
        }
    }
    return made;
}

}  // namespace boomslang::wire
