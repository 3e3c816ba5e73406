// A question and its answer that came in one piece each, taken apart at once.
//
// Nearly all that goes by a proxy is: one statement, its whole answer, nothing else under way. Reading such a pair
// message by message, with all that might have come instead in mind, is most of what understanding it costs. So these
// are recognized here, and only these: whatever is cut, mixed with something else, an error or not of the protocol is
// none, and goes the long way (record/wire/postgres/watcher.py, record/wire/mysql/watcher.py).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace boomslang::wire {

using Value = std::optional<std::string_view>;  // none: NULL

// [Parse] Bind [Describe] Execute Sync of the portal without a name, or one Query.
struct PostgresRequest {
    bool simple = false;
    std::string_view text;                  // of a Query
    std::optional<std::string_view> parse;  // the body of a Parse
    std::string_view statement;
    std::vector<int> formats, results;
    std::vector<Value> values;
    bool describes = false;
};

// What such a one is answered with when it succeeds.
struct PostgresAnswer {
    bool parsed = false, bound = false, described = false;
    std::optional<std::string_view> columns;  // the body of a RowDescription
    std::vector<std::vector<Value>> rows;
    std::string_view tag, status;
};

std::optional<PostgresRequest> postgres_request(std::string_view data);
std::optional<PostgresAnswer> postgres_answer(std::string_view data);

// One OK, or one result: its columns' definitions as they are, its rows, its end.
struct MySQLAnswer {
    std::string_view ok;  // empty: it has rows
    std::vector<std::string_view> columns, rows;
    std::string_view end;
    int last = 0;  // the number of its last message
};

std::optional<MySQLAnswer> mysql_answer(std::string_view data, bool ends_columns);

// The values of a row of text.
std::optional<std::vector<Value>> mysql_text_row(std::string_view row);

// A text's skeleton (plain.hpp), and the literals that were taken out of it; none if it is not certain where they are,
// or one is anything but digits or a plain string.
struct Literals {
    std::string skeleton;
    std::vector<std::string_view> literals;
};
std::optional<Literals> literals(std::string_view text);

}  // namespace boomslang::wire
