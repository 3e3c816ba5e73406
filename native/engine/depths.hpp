// Depths: where a point belongs, when neither a clock nor a log says so.
//
// Every point has points that must come before it: the writers it read from, its session's last transaction, whatever
// edges are known. The longest chain of them that ends in a point is its *depth*; the longest that starts there is its
// *height*. Both run alike for all sessions, for a session that reads what others have just written is never far behind
// them: what a session lags or leads is how long fresh values take to come around, which is short and does not grow with
// the trace. (How many transactions a session has made says far less: sessions drift apart.) So points are ranked by depth
// less height. Along every edge that grows: the rank is an order of the known graph, found in two linear passes.
#pragma once
#include <cstdint>
#include <vector>

#include "common/limits.hpp"
#include "problem.hpp"

namespace boomslang::engine {

// All points of transactions that are not out, by rank. Hints count like known edges; if they close a cycle with these, they
// are left out, and if there still is one the answer is empty.
std::vector<int32_t> order_by_depth(const Problem& problem, Limits& limits);

}  // namespace boomslang::engine
