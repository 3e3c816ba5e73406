#include "trace/crew.hpp"

#include <system_error>

namespace boomslang::trace {

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  given_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::unique_ptr<Slice> Crew::fresh() {
  if (spare_.empty()) return std::make_unique<Slice>();
  std::unique_ptr<Slice> slice = std::move(spare_.back());
  spare_.pop_back();
  return slice;
}

void Crew::give_back(std::unique_ptr<Slice> slice) {
  slice->clear();
  spare_.push_back(std::move(slice));
}

void Crew::give(std::unique_ptr<Slice> slice) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.emplace_back().slice = std::move(slice);
  }
  // A short trace ends before anyone else is needed.
  if (tasks_.size() > 1 && threads_.size() + 1 < static_cast<std::size_t>(jobs_))
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      jobs_ = static_cast<int>(threads_.size()) + 1;  // no more threads to be had
    }
  given_.notify_one();
}

void Crew::give_parsed(std::unique_ptr<Slice> slice) {
  const std::lock_guard lock(mutex_);
  Task& task = tasks_.emplace_back();
  task.slice = std::move(slice);
  task.state = parsed;
}

Crew::Task* Crew::next_waiting() {
  for (Task& task : tasks_)
    if (task.state == waiting) {
      task.state = taken;
      return &task;
    }
  return nullptr;
}

std::unique_ptr<Slice> Crew::take(bool all) {
  std::unique_lock lock(mutex_);
  if (tasks_.empty()) return nullptr;
  const std::size_t room = jobs_ == 1 ? 1 : 8 * static_cast<std::size_t>(jobs_);
  while (tasks_.front().state != parsed) {
    if (!all && tasks_.size() < room) return nullptr;
    if (Task* task = next_waiting()) {
      lock.unlock();
      parser_.parse(*task->slice);
      lock.lock();
      task->state = parsed;
    } else {
      done_.wait(lock);
    }
  }
  std::unique_ptr<Slice> slice = std::move(tasks_.front().slice);
  tasks_.pop_front();
  return slice;
}

void Crew::work() {
  Parser parser(shapes_);
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (Task* task = next_waiting()) {
      lock.unlock();
      parser.parse(*task->slice);
      lock.lock();
      task->state = parsed;
      done_.notify_one();
    } else {
      given_.wait(lock);
    }
  }
}

}  // namespace boomslang::trace
