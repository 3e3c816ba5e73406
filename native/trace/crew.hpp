// Threads that parse slices, while whoever cuts and applies them goes on.
//
// Slices come back in the order in which they were given, whoever parsed them. One thread is the caller's own: it
// gives slices, takes them back and applies them; when as many are under way as there is room for, and the oldest is
// not parsed yet, it parses one itself rather than wait. So with one job there are no threads at all, and with many
// nobody is idle as long as there is work.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/slice.hpp"

namespace boomslang::trace {

class Crew {
 public:
  Crew(int jobs, bool shapes) : jobs_(jobs < 1 ? 1 : jobs), shapes_(shapes), parser_(shapes) {}
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // An empty slice to fill.
  std::unique_ptr<Slice> fresh();
  void give(std::unique_ptr<Slice> slice);
  // One that somebody else has parsed.
  void give_parsed(std::unique_ptr<Slice> slice);
  // The oldest slice, parsed; null if none is under way, or unless `all` if there is still room for more and it is not
  // parsed yet.
  std::unique_ptr<Slice> take(bool all);
  // A slice that is done with.
  void give_back(std::unique_ptr<Slice> slice);

 private:
  enum State : unsigned char { waiting, taken, parsed };
  struct Task {
    std::unique_ptr<Slice> slice;
    State state = waiting;
  };

  Task* next_waiting();
  void work();

  int jobs_;
  const bool shapes_;
  Parser parser_;  // the caller's
  std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<Task> tasks_;  // by age; tasks stay where they are while younger ones come and older ones go
  std::vector<std::unique_ptr<Slice>> spare_;
  std::vector<std::thread> threads_;
  bool over_ = false;
};

}  // namespace boomslang::trace
