// Tests the protocol of a page's word in all executions that the memory model of C++ allows. The
// pages themselves are read and written by plain loads and stores; they are relaxed atomics here.
//
// The tests cannot show what the release in Unshare is for: it orders a reader's loads before a
// later writer's stores, and the model has no load that reads from a later store.
#include "engines/btree/pool/page_word.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>

#include "tests/unit/engines/memory_model.h"

namespace testbed::btree {
namespace {

using Protocol = WordProtocol<ModelAtomics>;
using Execution = MemoryModel::Run;
constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

PageWord InFrame(uint32_t frame) { return PageWord{}.WithFrame(frame); }

// A frame with a page of two words, which each change sets to the same value.
struct WordFrame {
  std::array<ModelAtomic<int>, 2> words{ModelAtomic<int>(0), ModelAtomic<int>(0)};

  void Write(int value) {
    for (auto& word : words) word.store(value, kRelaxed);
  }
  std::array<int, 2> Read() const { return {words[0].load(kRelaxed), words[1].load(kRelaxed)}; }
};

// A page in frame 0, with the operations of readers and writers on it.
struct Page {
  Protocol::Word word{InFrame(0).bits};
  WordFrame frame;

  // Tries once to change the page.
  bool Write(int value) {
    const PageWord seen = Protocol::Load(word);
    if (!Protocol::TryExclude(word, seen)) return false;
    frame.Write(value);
    Protocol::Unexclude(word, 0, 0, false);
    return true;
  }
  // Tries once to read the page without a latch.
  bool Read(std::array<int, 2>* read) const {
    const PageWord seen = Protocol::Load(word);
    if (seen.exclusive() || !seen.in_pool()) return false;
    *read = frame.Read();
    return Protocol::Unchanged(word, seen);
  }
};

class PageWordTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer does not know the fibers of the memory model";
#endif
  }

  // Explores the program, and returns how many executions there were.
  uint64_t Explore(const std::function<void(Execution&)>& program) {
    return model_.Explore(program);
  }

  MemoryModel model_;
};

void OneWriterOneReader(Execution& run) {
  auto page = std::make_shared<Page>();
  run.Thread([page] { page->Write(1); });
  run.Thread([page, &run] {
    std::array<int, 2> read;
    if (page->Read(&read)) run.Check(read[0] == read[1], "a valid read saw half of a change");
  });
}

TEST_F(PageWordTest, AValidReadSeesAllOfAChangeOrNothing) {
  EXPECT_GT(Explore(OneWriterOneReader), 500);
  EXPECT_EQ(model_.failure(), "");
}

// Without the fence after the exchange, a reader may see the change but not the latch.
TEST_F(PageWordTest, TheModelSeesWhatTheFenceIsFor) {
  model_.IgnoreReleaseFences();
  Explore(OneWriterOneReader);
  EXPECT_EQ(model_.failure(), "a valid read saw half of a change");
}

TEST_F(PageWordTest, AReaderThatComesBackSeesNothingOlder) {
  Explore([](Execution& run) {
    auto page = std::make_shared<Page>();
    run.Thread([page] { page->Write(1); });
    run.Thread([page, &run] {
      std::array<int, 2> first{}, second{};
      if (!page->Read(&first) || !page->Read(&second)) return;
      run.Check(first[0] <= second[0], "the second valid read was older than the first");
    });
  });
  EXPECT_EQ(model_.failure(), "");
}

// A page in frame 0 that leaves it, and another page that comes into the frame.
struct TwoPages {
  Page page;
  Protocol::Word other{0};

  void Exchange() {
    if (!Protocol::TryExclude(page.word, Protocol::Load(page.word))) return;
    Protocol::Unexclude(page.word, kNoFrame, 0, false);
    if (!Protocol::TryExclude(other, Protocol::Load(other))) return;
    page.frame.Write(7);
    Protocol::Unexclude(other, 0, 0, false);
  }
};

TEST_F(PageWordTest, AValidReadIsNotOfThePageThatCameAfter) {
  EXPECT_GT(Explore([](Execution& run) {
              auto pages = std::make_shared<TwoPages>();
              run.Thread([pages] { pages->Exchange(); });
              run.Thread([pages, &run] {
                std::array<int, 2> read;
                if (!pages->page.Read(&read)) return;
                run.Check(read[0] == 0 && read[1] == 0, "a valid read was of another page");
              });
            }),
            500);
  EXPECT_EQ(model_.failure(), "");
}

TEST_F(PageWordTest, AValidReadIsNotOfThePageThatWasThereBefore) {
  Explore([](Execution& run) {
    auto pages = std::make_shared<TwoPages>();
    run.Thread([pages] { pages->Exchange(); });
    run.Thread([pages, &run] {
      const PageWord seen = Protocol::Load(pages->other);
      if (seen.exclusive() || !seen.in_pool()) return;
      const std::array<int, 2> read = pages->page.frame.Read();
      if (!Protocol::Unchanged(pages->other, seen)) return;
      run.Check(read[0] == 7 && read[1] == 7, "a valid read was of the page before");
    });
  });
  EXPECT_EQ(model_.failure(), "");
}

TEST_F(PageWordTest, AnExclusiveLatchIsOneThreads) {
  Explore([](Execution& run) {
    auto page = std::make_shared<Page>();
    auto changes = std::make_shared<std::array<bool, 2>>();
    for (size_t thread = 0; thread < 2; ++thread) {
      run.Thread([page, changes, thread] {
        const PageWord seen = Protocol::Load(page->word);
        if (!Protocol::TryExclude(page->word, seen)) return;
        page->frame.Write(page->frame.words[0].load(kRelaxed) + 1);
        Protocol::Unexclude(page->word, 0, 0, false);
        (*changes)[thread] = true;
      });
    }
    run.AtEnd([page, changes, &run] {
      const int made = (*changes)[0] + (*changes)[1];
      run.Check(made > 0, "no thread got the latch");
      run.Check(page->frame.words[0].load(kRelaxed) == made, "a change was lost");
    });
  });
  EXPECT_EQ(model_.failure(), "");
}

TEST_F(PageWordTest, ASharedLatchKeepsChangesAway) {
  Explore([](Execution& run) {
    auto page = std::make_shared<Page>();
    run.Thread([page] { page->Write(1); });
    run.Thread([page, &run] {
      if (!Protocol::TryShare(page->word, Protocol::Load(page->word))) return;
      const std::array<int, 2> read = page->frame.Read();
      run.Check(read[0] == read[1], "a page changed under a shared latch");
      Protocol::Unshare(page->word);
    });
    run.AtEnd([page, &run] {
      run.Check(!Protocol::Load(page->word).latched(), "a latch was not given back");
    });
  });
  EXPECT_EQ(model_.failure(), "");
}

// A writer that keeps the page shared must find what it wrote: no other writer may come in between.
TEST_F(PageWordTest, AWriterMayKeepThePageShared) {
  Explore([](Execution& run) {
    auto page = std::make_shared<Page>();
    run.Thread([page, &run] {
      if (!Protocol::TryExclude(page->word, Protocol::Load(page->word))) return;
      page->frame.Write(1);
      Protocol::Unexclude(page->word, 0, 0, true);
      run.Check(page->frame.Read() == std::array<int, 2>{1, 1}, "another writer came in between");
      Protocol::Unshare(page->word);
    });
    run.Thread([page] { page->Write(2); });
  });
  EXPECT_EQ(model_.failure(), "");
}

// Tests the model itself on programs with known answers (the litmus tests MP and SB).
class MemoryModelTest : public PageWordTest {};

TEST_F(MemoryModelTest, MessagesArriveInOrderOnlyWithReleaseAndAcquire) {
  for (const bool ordered : {true, false}) {
    Explore([&](Execution& run) {
      auto data = std::make_shared<ModelAtomic<int>>(0);
      auto flag = std::make_shared<ModelAtomic<int>>(0);
      run.Thread([=] {
        data->store(1, kRelaxed);
        flag->store(1, ordered ? std::memory_order_release : kRelaxed);
      });
      run.Thread([=, &run] {
        if (flag->load(ordered ? std::memory_order_acquire : kRelaxed) == 0) return;
        run.Check(data->load(kRelaxed) == 1, "stale");
      });
    });
    EXPECT_EQ(model_.failure(), ordered ? "" : "stale");
  }
}

TEST_F(MemoryModelTest, FencesOrderWhatIsRelaxed) {
  for (const bool ignored : {false, true}) {
    if (ignored) model_.IgnoreReleaseFences();
    Explore([](Execution& run) {
      auto data = std::make_shared<ModelAtomic<int>>(0);
      auto flag = std::make_shared<ModelAtomic<int>>(0);
      run.Thread([=] {
        data->store(1, kRelaxed);
        ModelAtomics::Fence(std::memory_order_release);
        flag->store(1, kRelaxed);
      });
      run.Thread([=, &run] {
        if (flag->load(kRelaxed) == 0) return;
        ModelAtomics::Fence(std::memory_order_acquire);
        run.Check(data->load(kRelaxed) == 1, "stale");
      });
    });
    EXPECT_EQ(model_.failure(), ignored ? "stale" : "");
  }
}

TEST_F(MemoryModelTest, BothThreadsMayMissTheOthersStore) {
  Explore([](Execution& run) {
    auto places = std::make_shared<std::array<ModelAtomic<int>, 2>>(
        std::array<ModelAtomic<int>, 2>{ModelAtomic<int>(0), ModelAtomic<int>(0)});
    auto seen = std::make_shared<std::array<int, 2>>();
    for (size_t t = 0; t < 2; ++t) {
      run.Thread([=] {
        (*places)[t].store(1, std::memory_order_release);
        (*seen)[t] = (*places)[1 - t].load(std::memory_order_acquire);
      });
    }
    run.AtEnd([=, &run] { run.Check((*seen)[0] + (*seen)[1] > 0, "both missed it"); });
  });
  EXPECT_EQ(model_.failure(), "both missed it");
}

}  // namespace
}  // namespace testbed::btree
