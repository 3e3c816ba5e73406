// Threads that parse slices, and apply them one after the other.
//
// Parsing needs no order, applying does: slices are applied in the order in which they were given, one at a time. Who
// has parsed a slice applies it, too, when its turn has come, and parses further ones until then: what it made of the
// lines is close to its core, and far from any other. What moves from core to core instead is the end of what has been
// applied, which is little. One thread is the caller's own; with one job there is no other.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trace/slice.hpp"

namespace boomslang::trace {

class Crew {
 public:
  // Applies the next slice; by whichever thread, never by two.
  using Apply = std::function<void(const Slice&)>;

  Crew(int jobs, bool shapes, Apply apply);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // An empty slice to fill.
  std::unique_ptr<Slice> fresh();
  // One that was not filled.
  void give_back(std::unique_ptr<Slice> slice);
  void give(std::unique_ptr<Slice> slice);
  // One whose text is read by whoever parses it.
  void give(const Stretch& stretch);
  // One that somebody else has parsed.
  void give_parsed(std::unique_ptr<Slice> slice);
  // Parses and applies until there is room for more, or `all` is applied. What a slice threw when it was applied is
  // thrown here, now and whenever it is called again; nothing is applied after it.
  void go_on(bool all);

 private:
  static constexpr std::size_t caller = 0;
  enum State : unsigned char { waiting, taken, parsed };
  struct Task {
    std::unique_ptr<Slice> slice;  // of a stretch none, until somebody takes it
    Stretch stretch;
    State state = waiting;
    std::size_t by = caller;    // who has taken it
    std::size_t home = caller;  // whose spare slice it is
  };
  // What belongs to a thread.
  struct Member {
    explicit Member(bool shapes) : parser(shapes) {}
    Parser parser;
    std::vector<std::unique_ptr<Slice>> spare;  // the one used last is the next, as its memory is close
    std::condition_variable wake;
    bool waits = false;
    std::thread thread;  // but the caller's
  };
  using Lock = std::unique_lock<std::mutex>;

  void add(Task task);
  bool has_turn(std::size_t member) const;
  bool step(Lock& lock, std::size_t member);
  void parse_next(Lock& lock, Task& task, std::size_t member);
  void apply_next(Lock& lock);
  void wait(Lock& lock, Member& member);
  void wake(Member& member);
  void work(std::size_t member);

  std::size_t jobs_;
  const bool shapes_;
  const Apply apply_;
  std::mutex mutex_;
  std::deque<Task> tasks_;  // by age; tasks stay where they are while younger ones come and older ones go
  std::deque<Member> members_;
  bool applying_ = false;
  bool over_ = false;
  std::exception_ptr failure_;
};

}  // namespace boomslang::trace
