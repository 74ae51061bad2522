#include "workloads/population.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/engine.h"

namespace testbed {

void RangeSet::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto at = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                             [](const Range& r, uint64_t n) { return r.end < n; });
  auto last = at;
  while (last != ranges_.end() && last->begin <= end) {
    begin = std::min(begin, last->begin);
    end = std::max(end, last->end);
    count_ -= last->end - last->begin;
    ++last;
  }
  count_ += end - begin;
  if (at == last) {
    ranges_.insert(at, {begin, end});
    return;
  }
  *at = {begin, end};
  ranges_.erase(at + 1, last);
}

void RangeSet::Remove(uint64_t n) {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), n,
                                   [](const Range& r, uint64_t x) { return r.end <= x; });
  if (at == ranges_.end() || n < at->begin) return;
  --count_;
  const Range behind{n + 1, at->end};
  at->end = n;
  if (at->begin == at->end) {
    if (behind.begin == behind.end) {
      ranges_.erase(at);
    } else {
      *at = behind;
    }
  } else if (behind.begin != behind.end) {
    ranges_.insert(at + 1, behind);
  }
}

bool RangeSet::Contains(uint64_t n) const {
  const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), n,
                                   [](const Range& r, uint64_t x) { return r.end <= x; });
  return at != ranges_.end() && at->begin <= n;
}

uint64_t RangeSet::At(uint64_t k) const {
  for (const Range& r : ranges_) {
    if (k < r.end - r.begin) return r.begin + k;
    k -= r.end - r.begin;
  }
  return ranges_.back().end - 1;
}

uint64_t RangeSet::CountFrom(uint64_t n) const {
  uint64_t count = 0;
  for (auto r = ranges_.rbegin(); r != ranges_.rend() && r->end > n; ++r) {
    count += r->end - std::max(r->begin, n);
  }
  return count;
}

Population::Client::Client(Population& population) : population_(population) {
  LockGuard lock(population_.mutex_);
  population_.clients_.push_back(this);
}

Population::Client::~Client() {
  LockGuard lock(population_.mutex_);
  GiveBack();
  std::erase(population_.clients_, this);
}

void Population::Client::GiveBack() {
  for (const Held& held : held_) {
    if (held.state == kBegun) {
      population_.known_ = false;
    } else if (held.insert == (held.state == kDone)) {
      population_.there_.Add(held.place);
    } else if (held.insert) {
      population_.unused_.Add(held.place);
    }
  }
  held_.clear();
  kept_.clear();
  least_kept_ = UINT64_MAX;
}

Population::Batch::Batch(Client& client)
    : client_(client), population_(client.population_), lock_(population_.mutex_) {
  client_.GiveBack();
}

Population::Batch::Taken Population::Batch::TakeInsert() {
  RangeSet& unused = population_.unused_;
  uint64_t place;
  if (unused.empty()) {
    place = population_.TakeNext();
  } else {
    place = unused.ranges().front().begin;
    unused.Remove(place);
  }
  client_.held_.push_back({place, true, Client::kTaken});
  return {place, client_.held_.size() - 1};
}

std::optional<Population::Batch::Taken> Population::Batch::TakeErase() {
  for (const RangeSet::Range& range : population_.there_.ranges()) {
    for (uint64_t place = range.begin; place < range.end; ++place) {
      if (population_.Kept(place)) continue;
      population_.there_.Remove(place);
      client_.held_.push_back({place, false, Client::kTaken});
      return Taken{place, client_.held_.size() - 1};
    }
  }
  return std::nullopt;
}

void Population::Batch::Keep(uint64_t place) {
  client_.kept_.push_back(place);
  client_.least_kept_ = std::min(client_.least_kept_, place);
}

bool Population::Batch::Hopeful() const {
  return !population_.there_.empty() ||
         std::any_of(population_.clients_.begin(), population_.clients_.end(),
                     [](const Client* client) { return !client->held_.empty(); });
}

bool Population::Kept(uint64_t place) const {
  return std::any_of(clients_.begin(), clients_.end(), [place](const Client* client) {
    return client->least_kept_ <= place &&
           std::find(client->kept_.begin(), client->kept_.end(), place) != client->kept_.end();
  });
}

// Takes the next place of this process's blocks.
uint64_t Population::TakeNext() {
  if (shares_ == 1) return next_++;
  const uint64_t block = taken_of_share_ / kInsertBlock * shares_ + share_;
  const uint64_t place = shares_begin_ + block * kInsertBlock + taken_of_share_ % kInsertBlock;
  ++taken_of_share_;
  next_ = place + 1;
  return place;
}

void Population::Divide(uint64_t share, uint64_t shares) {
  share_ = share;
  shares_ = shares;
  BeginShares();
}

Population::Population(std::shared_ptr<const Dataset> dataset)
    : dataset_(std::move(dataset)),
      scatter_(dataset_->rows(), Mix64(dataset_->options().seed + 0x706f70)),
      next_(dataset_->rows()) {
  there_.Add(0, dataset_->rows());
}

uint64_t Population::RowOf(uint64_t place) const {
  return place < dataset_->rows() ? scatter_(place) : place;
}

uint64_t Population::PlaceOf(uint64_t row) const {
  return row < dataset_->rows() ? scatter_.Inverse(row) : row;
}

nlohmann::json Population::ToJson() const {
  if (!known_) return nullptr;
  nlohmann::json places = nlohmann::json::array();
  for (const RangeSet::Range& r : there_.ranges()) places.push_back({r.begin, r.end});
  return {{"rows", there_.count()}, {"places", places}, {"next", next_}, {"phases", phases_}};
}

void Population::FromJson(const nlohmann::json& json) {
  known_ = !json.is_null();
  if (!known_) return;
  there_ = {};
  unused_ = {};
  try {
    uint64_t rows = 0;
    for (const nlohmann::json& range : json.at("places")) {
      const uint64_t begin = range.at(0), end = range.at(1);
      there_.Add(begin, end);
      rows += end - begin;
    }
    next_ = json.at("next");
    BeginShares();
    phases_ = json.value("phases", uint64_t{0});  // records of older versions have none
    const bool whole = there_.count() == rows && json.at("rows") == rows &&
                       next_ >= dataset_->rows() &&
                       (there_.empty() || there_.ranges().back().end <= next_);
    if (whole) return;
  } catch (const nlohmann::json::exception&) {
  }
  throw Error(Error::kRun,
              "the record of which rows the database holds is damaged; load it anew with --fresh");
}

nlohmann::json Population::Unite(const std::vector<nlohmann::json>& records) {
  RangeSet there;
  uint64_t next = 0, phases = 0;
  try {
    for (const nlohmann::json& record : records) {
      if (record.is_null()) return nullptr;
      for (const nlohmann::json& range : record.at("places")) {
        there.Add(range.at(0).get<uint64_t>(), range.at(1).get<uint64_t>());
      }
      next = std::max(next, record.at("next").get<uint64_t>());
      phases = std::max(phases, record.value("phases", uint64_t{0}));
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(Error::kRun, "a task's record of which rows the database holds is damaged");
  }
  nlohmann::json places = nlohmann::json::array();
  for (const RangeSet::Range& r : there.ranges()) places.push_back({r.begin, r.end});
  return {{"rows", there.count()}, {"places", places}, {"next", next}, {"phases", phases}};
}

void Population::Count(Engine& engine, bool (*stop)()) {
  known_ = false;
  // The number of phases of the runs that were not recorded is not known either. The clock gives a
  // number that is greater than theirs.
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  phases_ =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  // Rows arrive in key order, so each one sets the bit of its place. The limit keeps a foreign key
  // from asking for an unbounded bitmap.
  constexpr uint64_t kMostInserted = 1ull << 36;
  std::vector<bool> found(dataset_->rows());
  const std::unique_ptr<Session> session = engine.NewSession();
  const std::unique_ptr<Cursor> cursor = session->NewCursor(engine.OpenTable(kMainTable));
  for (bool on = cursor->First(); on; on = cursor->Next()) {
    if (stop != nullptr && stop()) return;
    const std::optional<uint64_t> row = dataset_->RowOf(cursor->key());
    if (!row || *row > dataset_->rows() + kMostInserted) {
      throw Error(Error::kRun,
                  "the database holds a key that belongs to no row of it; load it anew with "
                  "--fresh");
    }
    const uint64_t place = PlaceOf(*row);
    if (place >= found.size()) found.resize(place + 1 + found.size() / 2);
    found[place] = true;
  }
  there_ = {};
  unused_ = {};
  for (uint64_t begin = 0; begin < found.size();) {
    if (!found[begin]) {
      ++begin;
      continue;
    }
    uint64_t end = begin;
    while (end < found.size() && found[end]) ++end;
    there_.Add(begin, end);
    begin = end;
  }
  next_ = std::max(dataset_->rows(), there_.empty() ? 0 : there_.ranges().back().end);
  BeginShares();
  known_ = true;
}

}  // namespace testbed
