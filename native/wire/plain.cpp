#include "wire/plain.hpp"

#include <cstring>

namespace boomslang::wire {

namespace {

constexpr size_t MOST_TEXTS = 8192;
constexpr size_t LONGEST_TEXT = 1 << 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '@' ||
           static_cast<unsigned char>(c) >= 0x80;
}

// Comments, escapes and dollar quotes: where values begin and end is then for others to say.
bool is_odd(std::string_view text) {
    for (size_t at = 0; at < text.size(); ++at) {
        const char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\0';
        if (c == '\\' || c == '#' || c == '\0') return true;
        if ((c == '-' && next == '-') || (c == '/' && next == '*')) return true;
        if (c == '$' && !is_digit(next)) return true;
    }
    return false;
}

uint32_t big_endian(const char* at) {
    const auto* b = reinterpret_cast<const unsigned char*>(at);
    return uint32_t(b[0]) << 24 | uint32_t(b[1]) << 16 | uint32_t(b[2]) << 8 | b[3];
}

uint32_t little_endian(const char* at, int bytes) {
    const auto* b = reinterpret_cast<const unsigned char*>(at);
    uint32_t made = 0;
    for (int n = 0; n < bytes; ++n) made |= uint32_t(b[n]) << (8 * n);
    return made;
}

bool plain_postgres(std::string_view data, const KnownTexts& texts) {
    size_t at = 0;
    while (at < data.size()) {
        if (data.size() - at < 5) return false;
        const char letter = data[at];
        const size_t size = big_endian(data.data() + at + 1);
        if (size < 4 || size > data.size() - at - 1) return false;
        const std::string_view body = data.substr(at + 5, size - 4);
        switch (letter) {
            case 'B': case 'E': case 'D': case 'C': case 'S': case 'H': case 'X': case 'd': case 'c': case 'f':
                break;
            case 'Q':
                if (body.empty() || body.back() != '\0' || !texts.has('Q', body.substr(0, body.size() - 1))) return false;
                break;
            case 'P': {
                const size_t name = body.find('\0');
                if (name == body.npos) return false;
                const size_t end = body.find('\0', name + 1);
                if (end == body.npos || !texts.has('P', body.substr(name + 1, end - name - 1))) return false;
                break;
            }
            default:
                return false;
        }
        at += 1 + size;
    }
    return true;
}

enum Command : unsigned char { QUERY = 0x03, PING = 0x0E, EXECUTE = 0x17, LONG_DATA = 0x18, CLOSE = 0x19 };

bool plain_mysql(std::string_view data, const KnownTexts& texts, Statements& statements) {
    if (data.size() < 5 || little_endian(data.data(), 3) != data.size() - 4 || data[3] != 0) return false;
    const std::string_view body = data.substr(4);
    switch (static_cast<unsigned char>(body[0])) {
        case QUERY:
            return texts.has('Q', body.substr(1));
        case PING:
            return true;
        case EXECUTE:
            return body.size() >= 5 && statements.contains(little_endian(body.data() + 1, 4));
        case CLOSE:
            if (body.size() >= 5) statements.erase(little_endian(body.data() + 1, 4));
            return body.size() >= 5;
        default:
            return false;
    }
}

}  // namespace

std::string skeleton(char kind, std::string_view text, std::vector<std::string_view>* taken) {
    std::string made(1, kind);
    if (text.size() > LONGEST_TEXT || is_odd(text)) {
        made += '=';
        made += text;
        return made;
    }
    made.reserve(text.size() + 1);
    size_t at = 0;
    while (at < text.size()) {
        const char c = text[at];
        if (c == '\'' || c == '"' || c == '`') {
            const size_t end = text.find(c, at + 1);
            if (end == text.npos) {
                made += text.substr(at);
                break;
            }
            const std::string_view found = text.substr(at, end + 1 - at);
            if (c == '\'') made += "'?'";
            else made += found;
            if (c == '\'' && taken != nullptr) taken->push_back(found);
            at = end + 1;
        } else if (is_digit(c)) {
            size_t end = at;
            while (end < text.size() && (is_digit(text[end]) || text[end] == '.')) ++end;
            const bool apart = (at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '.')) &&
                               (end == text.size() || !is_word(text[end]));
            const std::string_view found = text.substr(at, end - at);
            if (apart) made += '?';
            else made += found;
            if (apart && taken != nullptr) taken->push_back(found);
            at = end;
        } else {
            made += c;
            ++at;
        }
    }
    return made;
}

void KnownTexts::add(char kind, std::string_view text) {
    if (known_.size() >= MOST_TEXTS) known_.clear();
    known_.insert(skeleton(kind, text));
}

bool KnownTexts::has(char kind, std::string_view text) const {
    return !known_.empty() && known_.contains(skeleton(kind, text));
}

bool plain_from_client(Protocol protocol, std::string_view data, const KnownTexts& texts, Statements& statements) {
    return protocol == Protocol::POSTGRES ? plain_postgres(data, texts) : plain_mysql(data, texts, statements);
}

bool plain_from_server(Protocol protocol, std::string_view data) {
    if (protocol == Protocol::POSTGRES) return true;
    size_t at = 0;
    while (at < data.size()) {
        if (data.size() - at < 5) return false;
        const size_t size = little_endian(data.data() + at, 3);
        if (size == 0 || size == 0xFFFFFF || size > data.size() - at - 4) return false;
        if (static_cast<unsigned char>(data[at + 4]) == 0xFF) return false;
        at += 4 + size;
    }
    return true;
}

}  // namespace boomslang::wire
