// Runs a small concurrent program in all executions that the memory model of C++ allows, so that a
// test of a lock-free protocol does not depend on what a machine happens to do.
//
//   MemoryModel model;
//   const uint64_t executions = model.Explore([&](MemoryModel::Run& run) {
//     auto word = std::make_shared<ModelAtomic<uint64_t>>(0);
//     run.Thread([=] { word->store(1, std::memory_order_release); });
//     run.Thread([word, &run] {
//       run.Check(word->load(std::memory_order_acquire) <= 1, "0 or 1");
//     });
//   });
//   EXPECT_EQ(model.failure(), "");
//
// Each store to a place is kept with its view: for each place, the oldest store that a thread may
// still read after it has read this store. A relaxed load may read each store that the thread's
// view does not rule out; acquire and release, as orders and as fences, join views. It is the
// view-based account of release and acquire of Kang et al., "A Promising Semantics for
// Relaxed-Memory Concurrency" (POPL 2017), without promises: no load reads from a store that its
// own thread makes later on. A store becomes the newest of its place, and an exchange reads the
// newest. Sequentially consistent order is treated as acquire and release. A program must end
// within a few steps on every path.
//
// Threads are fibers of the calling thread; the explorer takes each choice (whose step is next,
// which store a load reads) in turn, one execution after the other. Not thread-safe.
#ifndef TESTBED_TESTS_UNIT_ENGINES_MEMORY_MODEL_H_
#define TESTBED_TESTS_UNIT_ENGINES_MEMORY_MODEL_H_

#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

class MemoryModel {
 public:
  // For each place, the oldest of its stores that may still be read.
  using View = std::vector<size_t>;

  // One execution: the program adds its threads and checks, and the explorer runs them.
  class Run {
   public:
    void Thread(std::function<void()> body) {
      model_->threads_.push_back(NewFiber(std::move(body)));
    }
    // Calls `body` once all threads have ended, to check what must hold then.
    void AtEnd(std::function<void()> body) { model_->at_end_ = std::move(body); }
    void Check(bool holds, const char* what) {
      if (!holds && model_->failure_.empty()) model_->failure_ = what;
    }

   private:
    friend class MemoryModel;
    explicit Run(MemoryModel* model) : model_(model) {}
    MemoryModel* model_;
  };

  // Runs the program in every execution, until one fails a check. Returns how many there were.
  uint64_t Explore(const std::function<void(Run&)>& program) {
    uint64_t executions = 0;
    choices_.clear();
    failure_.clear();
    do {
      ++executions;
      Execute(program);
    } while (failure_.empty() && NextChoices());
    return executions;
  }
  // Returns the check that failed; empty when none did.
  const std::string& failure() const { return failure_; }
  // Makes release fences have no effect, to show that a test notices their absence.
  void IgnoreReleaseFences() { ignores_release_fences_ = true; }

 private:
  template <typename T>
  friend class ModelAtomic;
  friend struct ModelAtomics;

  static constexpr size_t kStackBytes = 64 << 10;

  struct Fiber {
    std::function<void()> body;
    std::unique_ptr<char[]> stack{new char[kStackBytes]};  // not filled with zeros
    ucontext_t context{};
    bool ended = false;
    View now;                 // its view
    View acquired, released;  // what an acquire fence adds; its view at its last release fence
  };

  static std::unique_ptr<Fiber> NewFiber(std::function<void()> body) {
    auto fiber = std::make_unique<Fiber>();
    fiber->body = std::move(body);
    return fiber;
  }

  static MemoryModel*& Current() {
    static MemoryModel* current = nullptr;
    return current;
  }

  static void Join(View* view, const View& other) {
    if (view->size() < other.size()) view->resize(other.size());
    for (size_t i = 0; i < other.size(); ++i) (*view)[i] = std::max((*view)[i], other[i]);
  }
  static size_t& At(View* view, size_t place) {
    if (view->size() <= place) view->resize(place + 1);
    return (*view)[place];
  }

  static void Enter() {
    MemoryModel* const model = Current();
    Fiber* const fiber = model->running_;
    fiber->body();
    fiber->ended = true;
    ::swapcontext(&fiber->context, &model->explorer_);
  }

  void Execute(const std::function<void(Run&)>& program) {
    Current() = this;
    taken_ = places_ = 0;
    threads_.clear();
    at_end_ = nullptr;
    Fiber first;  // makes the places, before any thread runs
    running_ = &first;
    steps_ = false;
    Run run(this);
    program(run);
    for (const auto& fiber : threads_) {
      fiber->now = first.now;
      ::getcontext(&fiber->context);
      fiber->context.uc_stack.ss_sp = fiber->stack.get();
      fiber->context.uc_stack.ss_size = kStackBytes;
      fiber->context.uc_link = nullptr;
      ::makecontext(&fiber->context, &MemoryModel::Enter, 0);
    }
    steps_ = true;
    for (;;) {
      std::vector<Fiber*> ready;
      for (const auto& fiber : threads_) {
        if (!fiber->ended) ready.push_back(fiber.get());
      }
      if (ready.empty()) break;
      running_ = ready[Choose(ready.size())];
      ::swapcontext(&explorer_, &running_->context);
    }
    steps_ = false;
    for (const auto& fiber : threads_) Join(&first.now, fiber->now);
    running_ = &first;
    if (at_end_) at_end_();
  }

  // Returns the choice among `n` that this execution takes.
  size_t Choose(size_t n) {
    if (n == 1) return 0;
    if (taken_ == choices_.size()) choices_.push_back({0, n});
    return choices_[taken_++].first;
  }

  // Advances to the choices of the next execution; false when all were taken.
  bool NextChoices() {
    while (!choices_.empty()) {
      if (++choices_.back().first < choices_.back().second) return true;
      choices_.pop_back();
    }
    return false;
  }

  // The border of a step: another thread may run now.
  void Step() {
    if (steps_) ::swapcontext(&running_->context, &explorer_);
  }

  std::vector<std::pair<size_t, size_t>> choices_;  // what was chosen, among how many
  size_t taken_ = 0, places_ = 0;
  std::vector<std::unique_ptr<Fiber>> threads_;
  std::function<void()> at_end_;
  std::string failure_;
  Fiber* running_ = nullptr;
  ucontext_t explorer_{};
  bool steps_ = false, ignores_release_fences_ = false;
};

// A place of the memory model, with the functions of std::atomic that are needed.
template <typename T>
class ModelAtomic {
 public:
  explicit ModelAtomic(T value) : place_(Model()->places_++) { stores_.push_back({value, {}}); }

  T load(std::memory_order order) const {
    Model()->Step();
    MemoryModel::Fiber* const fiber = Model()->running_;
    size_t& oldest = MemoryModel::At(&fiber->now, place_);
    oldest += Model()->Choose(stores_.size() - oldest);
    return Read(order, oldest);
  }
  void store(T value, std::memory_order order) {
    Model()->Step();
    Write(value, order, {});
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order order) {
    return compare_exchange_strong(expected, desired, order, order);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                               std::memory_order failure) {
    Model()->Step();
    const bool equal = stores_.back().value == expected;
    const MemoryModel::View replaced = stores_.back().view;
    expected = Read(equal ? success : failure, stores_.size() - 1);
    if (equal) Write(desired, success, replaced);
    return equal;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                             std::memory_order failure) {
    return compare_exchange_strong(expected, desired, success, failure);
  }

 private:
  struct Store {
    T value;
    MemoryModel::View view;
  };

  static MemoryModel* Model() { return MemoryModel::Current(); }
  static bool Acquires(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_release;
  }
  static bool Releases(std::memory_order order) {
    return order != std::memory_order_relaxed && order != std::memory_order_acquire;
  }

  T Read(std::memory_order order, size_t which) const {
    MemoryModel::Fiber* const fiber = Model()->running_;
    MemoryModel::At(&fiber->now, place_) = which;
    MemoryModel::Join(&fiber->acquired, stores_[which].view);
    if (Acquires(order)) MemoryModel::Join(&fiber->now, stores_[which].view);
    return stores_[which].value;
  }
  // `continued` is the view of the store that an exchange replaces, which continues its release
  // sequence.
  void Write(T value, std::memory_order order, const MemoryModel::View& continued) {
    MemoryModel::Fiber* const fiber = Model()->running_;
    MemoryModel::At(&fiber->now, place_) = stores_.size();
    MemoryModel::View view = Releases(order) ? fiber->now : fiber->released;
    MemoryModel::Join(&view, continued);
    MemoryModel::At(&view, place_) = stores_.size();
    stores_.push_back({value, std::move(view)});
  }

  const size_t place_;
  std::vector<Store> stores_;  // in the order of their place
};

// The atomics and fences of the model, as a template parameter of the code under test.
struct ModelAtomics {
  template <typename T>
  using Atomic = ModelAtomic<T>;
  static void Fence(std::memory_order order) {
    MemoryModel* const model = MemoryModel::Current();
    MemoryModel::Fiber* const fiber = model->running_;
    if (order != std::memory_order_release) MemoryModel::Join(&fiber->now, fiber->acquired);
    if (order != std::memory_order_acquire && !model->ignores_release_fences_) {
      fiber->released = fiber->now;
    }
  }
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_MEMORY_MODEL_H_
