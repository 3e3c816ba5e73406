#include "trace/crew.hpp"

#include <algorithm>
#include <system_error>

namespace boomslang::trace {

Crew::Crew(int jobs, bool shapes, Apply apply)
    : jobs_(jobs < 1 ? 1 : static_cast<std::size_t>(jobs)), shapes_(shapes), apply_(std::move(apply)) {
  members_.emplace_back(shapes);
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    for (Member& member : members_) wake(member);
  }
  for (Member& member : members_)
    if (member.thread.joinable()) member.thread.join();
}

std::unique_ptr<Slice> Crew::fresh() {
  const std::lock_guard lock(mutex_);
  auto& spare = members_[caller].spare;
  if (spare.empty()) return std::make_unique<Slice>();
  std::unique_ptr<Slice> slice = std::move(spare.back());
  spare.pop_back();
  return slice;
}

void Crew::give_back(std::unique_ptr<Slice> slice) {
  const std::lock_guard lock(mutex_);
  members_[caller].spare.push_back(std::move(slice));
}

void Crew::give(std::unique_ptr<Slice> slice) {
  Task task;
  task.slice = std::move(slice);
  add(std::move(task));
}

void Crew::give(const Stretch& stretch) {
  Task task;
  task.stretch = stretch;
  add(std::move(task));
}

void Crew::give_parsed(std::unique_ptr<Slice> slice) {
  Task task;
  task.slice = std::move(slice);
  task.state = parsed;
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
}

void Crew::add(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  for (Member& member : members_)
    if (member.waits) return wake(member);
  // A short trace ends before anyone else is needed.
  if (tasks_.size() < 2 || members_.size() >= jobs_) return;
  const std::size_t number = members_.size();
  Member& member = members_.emplace_back(shapes_);
  try {
    member.thread = std::thread([this, number] { work(number); });
  } catch (const std::system_error&) {
    members_.pop_back();
    jobs_ = members_.size();  // no more threads to be had
  }
}

void Crew::go_on(bool all) {
  // While one thread moves a table that has become too small, the others go on.
  const std::size_t room = jobs_ == 1 ? 1 : std::max<std::size_t>(32, 8 * jobs_);
  Lock lock(mutex_);
  while (!failure_ && !tasks_.empty()) {
    if (!all && tasks_.size() < room && !has_turn(caller)) return;
    if (!step(lock, caller)) wait(lock, members_[caller]);
  }
  if (failure_) std::rethrow_exception(failure_);
}

void Crew::work(std::size_t number) {
  Lock lock(mutex_);
  Member& member = members_[number];
  while (!over_)
    if (failure_ || !step(lock, number)) wait(lock, member);
}

bool Crew::has_turn(std::size_t member) const {
  return !applying_ && tasks_.front().state == parsed && tasks_.front().by == member;
}

// Something that can be done now. False: there is nothing.
bool Crew::step(Lock& lock, std::size_t member) {
  if (tasks_.empty()) return false;
  if (has_turn(member)) {
    apply_next(lock);
    return true;
  }
  for (Task& task : tasks_)
    if (task.state == waiting) {
      parse_next(lock, task, member);
      return true;
    }
  return false;
}

void Crew::parse_next(Lock& lock, Task& task, std::size_t number) {
  Member& member = members_[number];
  task.state = taken;
  task.by = number;
  if (!task.slice) {
    task.home = number;
    if (!member.spare.empty()) {
      task.slice = std::move(member.spare.back());
      member.spare.pop_back();
    }
  }
  lock.unlock();
  try {
    if (!task.slice) task.slice = std::make_unique<Slice>();
    if (task.stretch.descriptor >= 0) task.slice->stretch = task.stretch;
    member.parser.parse(*task.slice);
    lock.lock();
    task.state = parsed;
  } catch (const std::bad_alloc&) {
    lock.lock();
    failure_ = std::current_exception();
    wake(members_[caller]);
  }
}

void Crew::apply_next(Lock& lock) {
  // It stays the oldest until it is applied: the caller waits for all of them.
  Task& task = tasks_.front();
  applying_ = true;
  lock.unlock();
  std::exception_ptr failure;
  try {
    apply_(*task.slice);
  } catch (...) {
    failure = std::current_exception();
  }
  task.slice->clear();
  lock.lock();
  applying_ = false;
  members_[task.home].spare.push_back(std::move(task.slice));
  tasks_.pop_front();
  if (failure) failure_ = failure;
  wake(members_[caller]);  // it may give more
  if (!tasks_.empty() && tasks_.front().state == parsed) wake(members_[tasks_.front().by]);
}

void Crew::wait(Lock& lock, Member& member) {
  member.waits = true;
  member.wake.wait(lock);
  member.waits = false;
}

void Crew::wake(Member& member) {
  if (!member.waits) return;
  member.waits = false;  // so that the next call wakes another
  member.wake.notify_one();
}

}  // namespace boomslang::trace
