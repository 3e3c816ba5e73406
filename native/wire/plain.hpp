// Which bytes of a client may be forwarded before anybody has understood them.
//
// Most of what an application says it has said before: the same texts with other values, prepared statements that are
// executed again. Of these it is known that nothing must be asked before they are forwarded, so they are *plain*, and
// the understanding comes behind. Everything else is held until the recorder has looked at it.
//
// Texts are compared by their skeletons, `... WHERE id = 5` and `... WHERE id = 6` being alike: numbers and strings
// are taken out where it is certain where they begin and end, and stay where it is not. Two texts of one skeleton name
// the same tables, so what must not be asked for the one must not be asked for the other.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace boomslang::wire {

enum class Protocol : uint8_t { POSTGRES, MYSQL };

// `taken`: what was taken out, in order.
std::string skeleton(char kind, std::string_view text, std::vector<std::string_view>* taken = nullptr);

class KnownTexts {
public:
    void add(char kind, std::string_view text);
    void clear() { known_.clear(); }
    bool has(char kind, std::string_view text) const;

private:
    std::unordered_set<std::string> known_;
};

using Statements = std::unordered_set<uint32_t>;  // MySQL's numbers of prepared statements that are plain

// Whole messages, all of them plain? `statements` loses those that are closed.
bool plain_from_client(Protocol protocol, std::string_view data, const KnownTexts& texts, Statements& statements);

// May the client hear this before the recorder? Errors of MySQL may not: of these the server is asked what they mean.
bool plain_from_server(Protocol protocol, std::string_view data);

}  // namespace boomslang::wire
