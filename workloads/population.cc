#include "workloads/population.h"

#include <algorithm>
#include <memory>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/engine.h"

namespace testbed {

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
  for (const uint64_t place : kept_) {
    const auto of_all = population_.kept_.find(place);
    if (--of_all->second == 0) population_.kept_.erase(of_all);
  }
  kept_.clear();
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
    place = unused.first();
    unused.Remove(place);
  }
  client_.held_.push_back({place, true, Client::kTaken});
  return {place, client_.held_.size() - 1};
}

std::optional<Population::Batch::Taken> Population::Batch::TakeErase() {
  RangeSet& there = population_.there_;
  for (; kept_rows_ < there.count(); ++kept_rows_) {
    const uint64_t place = there.At(kept_rows_);
    if (population_.kept_.contains(place)) continue;
    there.Remove(place);
    client_.held_.push_back({place, false, Client::kTaken});
    return Taken{place, client_.held_.size() - 1};
  }
  return std::nullopt;
}

void Population::Batch::Keep(uint64_t place) {
  ++population_.kept_[place];
  client_.kept_.push_back(place);
}

bool Population::Batch::Hopeful() const {
  return !population_.there_.empty() ||
         std::any_of(population_.clients_.begin(), population_.clients_.end(),
                     [](const Client* client) { return !client->held_.empty(); });
}

// Takes the next place of the blocks that belong to this process (Divide).
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
  for (const RangeSet::Range& r : there_.Ranges()) places.push_back({r.begin, r.end});
  return {{"rows", there_.count()}, {"places", places}, {"next", next_}};
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
    const bool whole = there_.count() == rows && json.at("rows") == rows &&
                       next_ >= dataset_->rows() && (there_.empty() || there_.last() < next_);
    if (whole) return;
  } catch (const nlohmann::json::exception&) {
  }
  throw Error(Error::kRun,
              "the record of which rows the database holds is damaged; load it anew with --fresh");
}

nlohmann::json Population::Unite(const std::vector<nlohmann::json>& records) {
  RangeSet there;
  uint64_t next = 0;
  try {
    for (const nlohmann::json& record : records) {
      if (record.is_null()) return nullptr;
      for (const nlohmann::json& range : record.at("places")) {
        there.Add(range.at(0).get<uint64_t>(), range.at(1).get<uint64_t>());
      }
      next = std::max(next, record.at("next").get<uint64_t>());
    }
  } catch (const nlohmann::json::exception&) {
    throw Error(Error::kRun, "a task's record of which rows the database holds is damaged");
  }
  nlohmann::json places = nlohmann::json::array();
  for (const RangeSet::Range& r : there.Ranges()) places.push_back({r.begin, r.end});
  return {{"rows", there.count()}, {"places", places}, {"next", next}};
}

bool Population::Count(Engine& engine, bool (*stop)()) {
  known_ = false;
  // Rows arrive in key order, so each one sets the bit of its place. The limit keeps a foreign key
  // from asking for an unbounded bitmap.
  constexpr uint64_t kMostInserted = 1ull << 36;
  std::vector<bool> found(dataset_->rows());
  const std::unique_ptr<Session> session = engine.NewSession();
  const std::unique_ptr<Cursor> cursor = session->NewCursor(engine.OpenTable(kMainTable));
  for (bool on = cursor->First(); on; on = cursor->Next()) {
    if (stop != nullptr && stop()) return true;
    const std::optional<uint64_t> row = dataset_->RowOf(cursor->key());
    if (!row || *row > dataset_->rows() + kMostInserted) return false;
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
  next_ = std::max(dataset_->rows(), there_.empty() ? 0 : there_.last() + 1);
  BeginShares();
  known_ = true;
  return true;
}

}  // namespace testbed
