#include "workloads/linkbench/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "device/os/signal_guard.h"
#include "workloads/linkbench/volume.h"
#include "workloads/random.h"

namespace testbed::linkbench {
namespace {

std::string Name(const LinkId& id) {
  return fmt::format("link {}.{}.{} (id1, type, id2)", id.id1, id.type, id.id2);
}

uint64_t HashOf(std::string_view bytes) {
  uint64_t hash = bytes.size();
  for (size_t at = 0; at < bytes.size(); at += 8) {
    hash = Mix64(hash ^
                 GetNumber(bytes, at, static_cast<int>(std::min<size_t>(8, bytes.size() - at))));
  }
  return hash;
}

uint64_t HashOf(const LinkId& id, const LinkRow& row) {
  const uint64_t key = Mix64(id.id1 ^ Mix64(id.type ^ Mix64(id.id2)));
  return Mix64(key ^ Mix64(row.time ^ Mix64(row.visibility ^ Mix64(row.version)))) ^
         Mix64(key + HashOf(row.data));
}

uint64_t HashOfCount(uint64_t id, uint64_t type, uint64_t count) {
  return Mix64(id ^ Mix64(type ^ Mix64(count)));
}

class Checker {
 public:
  Checker(Engine& engine, const Tables& tables, const Settings& settings, const Content& content,
          CheckCounts* found)
      : session_(engine.NewSession()),
        tables_(tables),
        settings_(settings),
        content_(content),
        found_(*found) {}

  std::string Run() {
    for (auto walk :
         {&Checker::WalkNodes, &Checker::WalkLinks, &Checker::WalkIndex, &Checker::WalkCounts}) {
      if (std::string wrong = (this->*walk)(); !wrong.empty()) return wrong;
      if (StopRequested()) return {};  // a stop ends a walk early
    }
    found_.done = true;
    if (link_sum_ != index_sum_ || found_.links != found_.index_entries) {
      return FindWrongIndexEntry();
    }
    if (group_sum_ != count_sum_ || groups_ != counted_groups_) return FindWrongCount();
    return {};
  }

 private:
  std::string WalkNodes() {
    auto cursor = session_->NewCursor(tables_.node);
    for (bool on = cursor->First(); on; on = cursor->Next()) {
      if (StopRequested()) return {};
      NodeRow row;
      const uint64_t id = GetNumber(cursor->key(), 0, 8);
      if (!ReadNode(cursor->value(), &row) || !content_.CheckNode(id, row)) {
        return fmt::format("the row of node {} is not its own", id);
      }
      ++found_.nodes;
    }
    return {};
  }

  // Walks the links. Also sums up the visible links of each id and type, which are adjacent in the
  // table.
  std::string WalkLinks() {
    auto cursor = session_->NewCursor(tables_.link);
    LinkId group{};
    uint64_t visible = 0;
    for (bool on = cursor->First(); on; on = cursor->Next()) {
      if (StopRequested()) return {};
      const LinkId id = ReadLinkKey(cursor->key(), settings_.id1_first);
      LinkRow row;
      if (!ReadLink(cursor->value(), &row) || row.visibility > kVisible ||
          !content_.CheckLink(id, row.time, row.data)) {
        return "the row of " + Name(id) + " is not its own";
      }
      if (id.id1 != group.id1 || id.type != group.type) {
        EndGroup(group, visible);
        group = id;
        visible = 0;
      }
      visible += row.visibility == kVisible;
      link_sum_ += HashOf(id, row);
      ++found_.links;
    }
    EndGroup(group, visible);
    return {};
  }

  void EndGroup(const LinkId& group, uint64_t visible) {
    if (visible == 0) return;
    group_sum_ += HashOfCount(group.id1, group.type, visible);
    ++groups_;
    found_.visible_links += visible;
  }

  std::string WalkIndex() {
    auto cursor = session_->NewCursor(tables_.index);
    for (bool on = cursor->First(); on; on = cursor->Next()) {
      if (StopRequested()) return {};
      LinkRow row;
      LinkId id;
      if (!ReadEntry(*cursor, &id, &row)) return "an entry of the index has no value";
      index_sum_ += HashOf(id, row);
      ++found_.index_entries;
    }
    return {};
  }

  static bool ReadEntry(const Cursor& cursor, LinkId* id, LinkRow* row) {
    *id = ReadIndexKey(cursor.key(), &row->visibility, &row->time);
    if (cursor.value().size() < kIndexHead) return false;
    row->version = static_cast<uint32_t>(GetNumber(cursor.value(), 0, 4));
    row->data = cursor.value().substr(kIndexHead);
    return true;
  }

  std::string WalkCounts() {
    auto cursor = session_->NewCursor(tables_.count);
    for (bool on = cursor->First(); on; on = cursor->Next()) {
      if (StopRequested()) return {};
      CountRow row;
      const uint64_t id = GetNumber(cursor->key(), 0, 8), type = GetNumber(cursor->key(), 8, 8);
      if (!ReadCount(cursor->value(), &row)) {
        return fmt::format("the count of id {} and type {} is no count", id, type);
      }
      ++found_.counts;
      if (row.count == 0) continue;
      count_sum_ += HashOfCount(id, type, row.count);
      ++counted_groups_;
    }
    return {};
  }

  // Compares each link with its entry, then each entry with its link.
  std::string FindWrongIndexEntry() {
    auto links = session_->NewCursor(tables_.link);
    char key[kIndexKeySize];
    std::string_view value;
    for (bool on = links->First(); on; on = links->Next()) {
      const LinkId id = ReadLinkKey(links->key(), settings_.id1_first);
      LinkRow row;
      ReadLink(links->value(), &row);
      if (!session_->Get(tables_.index, IndexKey(id, row.visibility, row.time, key), &value) ||
          value.size() < kIndexHead || GetNumber(value, 0, 4) != row.version ||
          value.substr(kIndexHead) != row.data) {
        return Name(id) + " has no entry in the index, or one that differs";
      }
    }
    auto entries = session_->NewCursor(tables_.index);
    for (bool on = entries->First(); on; on = entries->Next()) {
      LinkRow entry, row;
      LinkId id;
      ReadEntry(*entries, &id, &entry);
      if (!session_->Get(tables_.link, LinkKey(id, settings_.id1_first, key), &value) ||
          !ReadLink(value, &row) || row.visibility != entry.visibility || row.time != entry.time) {
        return "the index has an entry that no link has, of " + Name(id);
      }
    }
    return "the index and the links differ";
  }

  std::string FindWrongCount() {
    auto counts = session_->NewCursor(tables_.count);
    for (bool on = counts->First(); on; on = counts->Next()) {
      CountRow row;
      ReadCount(counts->value(), &row);
      const uint64_t id = GetNumber(counts->key(), 0, 8), type = GetNumber(counts->key(), 8, 8);
      if (const uint64_t links = VisibleLinks(id, type); links != row.count) {
        return fmt::format("the count of id {} and type {} is {}, and {} links are visible", id,
                           type, row.count, links);
      }
    }
    return "visible links of an id and type have no count";
  }

  uint64_t VisibleLinks(uint64_t id, uint64_t type) {
    char key[kIndexKeySize];
    const std::string_view first = IndexKey({id, type, 0}, kVisible, UINT64_MAX, key);
    auto cursor = session_->NewCursor(tables_.index);
    uint64_t links = 0;
    for (bool on = cursor->Seek(first);
         on && cursor->key().substr(0, kIndexPrefixSize) == first.substr(0, kIndexPrefixSize);
         on = cursor->Next()) {
      ++links;
    }
    return links;
  }

  std::unique_ptr<Session> session_;
  const Tables& tables_;
  const Settings& settings_;
  const Content& content_;
  CheckCounts& found_;
  uint64_t link_sum_ = 0, index_sum_ = 0;
  uint64_t group_sum_ = 0, count_sum_ = 0;
  uint64_t groups_ = 0, counted_groups_ = 0;  // ids and types with visible links; with a count
                                              // above 0
};

}  // namespace

nlohmann::json CheckCounts::ToJson() const {
  return {{"nodes", nodes},
          {"links", links},
          {"visible_links", visible_links},
          {"index_entries", index_entries},
          {"counts", counts}};
}

std::string CheckDatabase(Engine& engine, const Tables& tables, const Settings& settings,
                          const Content& content, CheckCounts* found) {
  *found = {};
  return Checker(engine, tables, settings, content, found).Run();
}

std::string CheckLoaded(Engine& engine, const Tables& tables, const Settings& settings,
                        const Content& content, CheckCounts* found) {
  std::string wrong = CheckDatabase(engine, tables, settings, content, found);
  if (!wrong.empty() || !found->done) return wrong;
  const LoadVolume loaded = VolumeOf(settings.Degrees());
  if (found->nodes == settings.nodes && found->links == loaded.links &&
      found->counts == loaded.counts) {
    return {};
  }
  return fmt::format(
      "{} nodes, {} links and {} counts were loaded, and the database holds {}, {} and {}",
      settings.nodes, loaded.links, loaded.counts, found->nodes, found->links, found->counts);
}

nlohmann::json SettingsJson(const Settings& settings) {
  const std::string bugs = settings.bugs_kept ? "kept" : "mended";
  return {
      {"distribution", settings.is_2017 ? "2017" : "2011"},
      {"degrees", "a model of LinkBench's file: a piecewise power law through its known quantiles"},
      {"degree_cap", settings.capped
                         ? "nodes: no node has more links than there are nodes"
                         : "none: as LinkBench, the hottest node has its file's maximum of links"},
      {"bugs",
       {{"left-over links", settings.is_2017 ? "not in the rule of 2017" : bugs},
        {"link writes use the read skew where they do not follow the degree", bugs},
        {"multiget asks for one link too many", bugs},
        {"latency from the real start when the rate is given", "mended: both are reported"},
        {"misses counted only when nothing was found", "mended: both are reported"}}},
      {"link_key", settings.id1_first ? "id1, link_type, id2" : "link_type, id1, id2"},
      {"link_types", settings.link_types},
      {"maxid1", settings.max_id()},
      {"link_datasize", settings.link_data_size},
      {"node_datasize", settings.node_data_size}};
}

}  // namespace testbed::linkbench
