#include "tools/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "device/account/grade.h"
#include "device/error.h"
#include "device/file/input_file.h"
#include "device/os/sys_file.h"
#include "tools/database/database_rows.h"
#include "tools/options.h"
#include "tools/output/json_text.h"
#include "tools/output/report_style.h"
#include "tools/output/table.h"
#include "tools/report/compare.h"
#include "tools/report/csv.h"
#include "tools/report/figures.h"
#include "tools/report/foreign_cpu.h"
#include "tools/report/remarks.h"
#include "tools/report/run_tables.h"
#include "workloads/keys/key_set.h"

namespace testbed {
namespace {

using nlohmann::json;

bool RamInForce(const json& document) {
  const json none = json::array();
  const json& refused = document.value("not_in_force", none);
  return std::none_of(refused.begin(), refused.end(),
                      [](const json& setting) { return FigureText(setting, "/option") == "ram"; });
}

// Returns the line that says which rows the database holds. The options --rows, --key-size and
// --value-size describe them only when the loader `insert` has made them.
std::string DataLine(const json& document) {
  const json& o = document.at("options");
  const std::string loader = LoaderOf(document), seed = FigureText(o, "/seed");
  if (loader.empty()) return fmt::format("rows as the database held them; seed {}\n", seed);
  if (loader != "insert") return fmt::format("rows as {} makes them; seed {}\n", loader, seed);
  const double rows = Number(document, "/data/rows", Number(o, "/rows"));
  const double keys = Number(document, "/data/key_bytes", rows * Number(o, "/key_size"));
  const double bytes =
      keys + Number(document, "/data/value_bytes", rows * Number(o, "/value_size"));
  const std::string of_keys = o.value("keys", std::string());
  std::string value = FigureText(o, "/value_size");
  // Values of several sizes have the text of the option in place of a number.
  if (std::isnan(Number(o, "/value_size")) && bytes >= keys) {
    value = fmt::format("{:.1f} (mean, {})", (bytes - keys) / rows, value);
  }
  const double ram = Number(o, "/ram", 0);  // 0: not bounded
  return fmt::format("{} of {} + {} bytes = {}{}; seed {}\n", WithNoun(Whole(rows), "row"),
                     of_keys.empty() ? FigureText(o, "/key_size")
                                     : fmt::format("{:.1f} (mean, keys of {})", keys / rows,
                                                   IsKeySet(of_keys) ? of_keys : "a file"),
                     value, Size(bytes),
                     ram > 0 ? fmt::format(", {} x ram", Short(bytes / ram)) : "", seed);
}

std::string Header(const json& document) {
  const json& o = document.at("options");
  const json run = document.at("runs").empty() ? json::object() : document.at("runs").at(0);
  std::string text = fmt::format(
      "testbed {}: {} {}, io {}, page {}, cache {} of ram {}, durability {}, compression {}\n",
      FigureText(document, "/testbed"), FigureText(o, "/engine"),
      FigureText(run, "/engine/version"), FigureText(o, "/io"), Size(Number(o, "/page_size")),
      (o.value("cache_auto", false)   ? "auto from "
       : o.value("cache_most", false) ? "most, "
                                      : "") +
          Size(Number(o, "/cache_size")),
      Size(Number(o, "/ram")) + (RamInForce(document) ? "" : " (not in force)"),
      FigureText(o, "/durability"), FigureText(o, "/compression"));
  if (run.contains("engine") && run["engine"].contains("release")) {
    const json& release = run["engine"]["release"];
    const std::string from = FigureText(release, "/from");
    text += fmt::format("release {}{}: {}\n", FigureText(release, "/name"),
                        from.empty() ? "" : " of " + from, FigureText(release, "/recipe"));
  }
  if (FigureText(run, "/engine/effective/assertions") == "on") {
    text +=
        "its library has assertions, which cost time; releases have none "
        "(docs/engine-versions.md)\n";
  }
  text += DataLine(document);
  text += fmt::format(
      "device {}{}, {}, read_ahead_kb {}; kernel {}\n", FigureText(document, "/device/name"),
      document.contains("device") && document.at("device").at("exclusive").get<bool>()
          ? " (the run's alone)"
          : " (shared)",
      FigureText(document, "/machine/file_system"),
      FigureText(document, "/device/queue/read_ahead_kb"), FigureText(document, "/machine/kernel"));
  if (document.contains("label")) text += "label: " + FigureText(document, "/label") + "\n";
  return text + "\n";
}

// Returns the letter of a run's grade. Throws json::exception when it is none that there is.
char GradeLetter(const json& accounting) {
  static const json kLetters = {{"A", 'A'}, {"B", 'B'}, {"C", 'C'}};
  return static_cast<char>(kLetters.at(accounting.at("grade").get<std::string>()).get<int>());
}

// Returns a line with the worst grade of the runs, the reasons for it, and the figures that are not
// known of some run.
std::string GradeLine(const json& document) {
  Grade worst{'A', {}};
  std::vector<std::string> missing;
  bool known = false;
  for (const json& run : document.at("runs")) {
    if (!run.contains("accounting")) continue;
    const json& a = run.at("accounting");
    known = true;
    for (const json& what : a.at("missing")) {
      const auto fact = what.get<std::string>();
      if (std::find(missing.begin(), missing.end(), fact) == missing.end()) missing.push_back(fact);
    }
    KeepWorse({GradeLetter(a), a.value("grade_reasons", std::vector<std::string>())}, &worst);
  }
  if (!known) return "";
  std::string text = fmt::format("grade {}", worst.letter);
  for (const std::string& reason : worst.reasons) text += "; " + OneLine(reason);
  for (const std::string& what : missing) text += "; not known: " + OneLine(what);
  return text + "\n";
}

// Returns a line for each phase that ended early by itself. Warm-ups are included, because a
// warm-up may have used up the rows that the next phase needs.
std::string EndedLines(const json& document) {
  std::string text;
  for (const json& run : document.at("runs")) {
    for (const json& phase : run.at("phases")) {
      if (!phase.contains("ended_because") || phase.at("kind") == "tune") continue;
      text += fmt::format(
          "{} ended after {} s and {}: {}; load more --rows, or give fewer "
          "--operations or --seconds, or a shorter --warmup\n",
          RowName(run, phase, ""), Short(Number(phase, "/seconds", 0)),
          WithNoun(FigureText(phase, "/count"), "operation"), FigureText(phase, "/ended_because"));
    }
  }
  return text;
}

// Returns a sentence for each search of --find-rate.
std::string FoundRateLines(const json& document) {
  std::string text;
  for (const json& run : document.at("runs")) {
    for (const json& found : run.value("find_rate", json::array())) {
      text += FigureText(found, "/sentence") + "\n";
    }
  }
  return text;
}

// Returns a warning when a phase was a closed loop. The tail latency of a closed loop is not that
// of the same rate from independent clients, who do not wait for each other's answers.
std::string ClosedLoopLine(const json& document) {
  bool closed = false;
  ForEachPhase(document, [&](const json&, const json& phase) {
    if (phase.at("kind") != "measure" || !phase.contains("operations")) return;
    for (const json& op : phase.at("operations")) {
      closed = closed || !op.contains("latency_from_intended_us");
    }
  });
  return closed ? "closed loop: each client begins its next operation when the last has ended, so "
                  "the percentiles leave out requests that would have waited meanwhile; --rate or "
                  "--find-rate counts them (docs/rates.md)\n"
                : "";
}

// Returns the closure lines, which tell how far the kernel's account of all threads is from the
// device's own statistics, and the grade line.
std::string ClosureLines(const json& document) {
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    if (!phase.at("account").contains("closure")) return;
    const json& c = phase.at("account").at("closure");
    const double reads = Number(phase, "/account/device/reads", 0);
    const double writes = Number(phase, "/account/device/writes", 0);
    text += fmt::format(
        "closure {}: all threads - device = {} of {}, {}; {} of {}, {}{}{}\n",
        RowName(run, phase, ""), c.at("reads").get<int64_t>(), WithNoun(Whole(reads), "read"),
        WithNoun(std::to_string(c.at("read_bytes").get<int64_t>()), "byte"),
        c.at("writes").get<int64_t>(), WithNoun(Whole(writes), "write"),
        WithNoun(std::to_string(c.at("write_bytes").get<int64_t>()), "byte"),
        c.at("at_rest").get<bool>() ? "" : " (the device was not at rest)",
        phase.contains("grade") ? " (grade " + FigureText(phase, "/grade") + ")" : "");
    const json none = json::array();
    double other = 0;
    for (const json& f : phase.at("account").value("other_threads", none)) {
      // Numbers of requests may be below 0 (BlockCounts).
      other += std::abs(Number(f, "/kernel/reads", 0)) + std::abs(Number(f, "/kernel/writes", 0));
    }
    if (other > 0) {
      text += "  of it by threads outside the run:";
      for (const json& f : phase.at("account").at("other_threads")) {
        text += fmt::format(" {} {} ({}, {});", FigureText(f, "/thread"), FigureText(f, "/kind"),
                            WithNoun(FigureText(f, "/kernel/reads"), "read"),
                            WithNoun(FigureText(f, "/kernel/writes"), "write"));
      }
      text.back() = '\n';
    }
  });
  return text + GradeLine(document);
}

// Returns a line for each replay in which walks ended much sooner than in the recording.
std::string ShorterWalksLines(const json& document) {
  constexpr double kMany = 0.05;
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double steps = Number(phase, "/details/cursor_steps", 0);
    const double left_out = Number(phase, "/details/cursor_steps_left_out", 0);
    if (left_out <= kMany * steps) return;
    text += fmt::format(
        "! {}: {} of {} steps of cursors were left out, as there were no further rows, so the "
        "database is not the one that was recorded: load it with the same options\n",
        RowName(run, phase, ""), Whole(left_out), Whole(steps));
  });
  return text;
}

// Returns a line for each replay in which many answers differed from the recorded ones, because it
// then did other work. A few may differ because clients race.
std::string OtherAnswersLines(const json& document) {
  constexpr double kMany = 0.05;
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double other = Number(phase, "/details/answers_other", 0);
    const double known = other + Number(phase, "/details/answers_as_recorded", 0);
    if (other <= kMany * known) return;
    text += fmt::format(
        "! {}: {} of {} answers are not those of the recording, so the database is not the one "
        "that "
        "was recorded: load it with the same options, or with replay-load\n",
        RowName(run, phase, ""), Whole(other), Whole(known));
  });
  return text;
}

// Returns a line for each phase in which operations got no answer, because a server was lost.
std::string UnansweredLines(const json& document) {
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const json none = json::array();
    double count = 0, longest = 0;
    for (const json& op : phase.value("unanswered", none)) {
      count += Number(op, "/count", 0);
      longest = std::max(longest, Number(op, "/max_us", 0));
    }
    if (count == 0) return;
    std::string why;
    for (const json& server : phase.at("account").value("addresses", none)) {
      if (server.contains("lost")) why += "; " + OneLine(FigureText(server, "/lost"));
    }
    text += fmt::format(
        "! {}: operations without an answer, which are in no rate and no latency: {}; the longest "
        "ended after {} s{}\n",
        RowName(run, phase, ""), Whole(count), Short(longest / 1e6), why);
  });
  return text;
}

// Returns a line for each open loop whose clients fell behind. One operation of each client may
// always be due at the end of a phase.
std::string FellBehindLines(const json& document) {
  constexpr double kNotable = 0.001;  // from this share on, p99.9, the table's highest, shows them
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    const double due = Number(phase, "/due_operations", 0);
    const double undone = Number(phase, "/undone_operations", 0);
    if (undone <= Number(phase, "/threads", 1) || undone < kNotable * due) return;
    text += fmt::format(
        "! {} fell behind: {} of {} due had not begun at the end; latencies from the "
        "intended start count what they had waited until then, a lower bound\n",
        RowName(run, phase, ""), Whole(undone), WithNoun(Whole(due), "operation"));
  });
  return text;
}

// Returns a line for each phase whose tasks did not all work at the same time, so that a part of it
// had fewer clients.
std::string TasksApartLines(const json& document) {
  constexpr double kNotable = 0.05, kNamed = 0.01;  // shares of the phase
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    double begin = INFINITY, last_begin = -INFINITY, first_end = INFINITY, end = -INFINITY;
    std::string late, early;  // the tasks that began last and ended first
    for (const json& task : phase.value("tasks", json::array())) {
      const double began = Number(task, "/began_late_us") / 1e6;
      const double ended = began + Number(task, "/seconds");
      if (std::isnan(ended)) return;
      const std::string name =
          fmt::format("task {} on {}", FigureText(task, "/task"), FigureText(task, "/host"));
      if (began > last_begin) late = name;
      if (ended < first_end) early = name;
      begin = std::min(begin, began);
      last_begin = std::max(last_begin, began);
      first_end = std::min(first_end, ended);
      end = std::max(end, ended);
    }
    const double whole = end - begin, together = std::max(0.0, first_end - last_begin);
    if (!(whole > 0) || together >= (1 - kNotable) * whole) return;
    std::vector<std::string> why;
    if (last_begin - begin > kNamed * whole) {
      why.push_back(fmt::format("{} began {} s after the first", late, Short(last_begin - begin)));
    }
    if (end - first_end > kNamed * whole) {
      why.push_back(fmt::format("{} ended {} s before the last", early, Short(end - first_end)));
    }
    text += fmt::format(
        "! {}: all tasks worked together for only {} of the time, so the rest has fewer clients: "
        "{}\n",
        RowName(run, phase, ""), Percent(together / whole), fmt::join(why, ", and "));
  });
  return text;
}

// Returns a line for each task whose clock moved against that of task 0 during a phase by so much
// that it shows in the times of the phase. Nobody sets these clocks, but that of a machine that was
// asleep, or moved to another host, has stood still.
std::string ClocksApartLines(const json& document) {
  constexpr double kNotable = 0.01;  // share of the phase
  std::string text;
  ForEachPhase(document, [&](const json& run, const json& phase) {
    for (const json& task : phase.value("tasks", json::array())) {
      const double moved = Number(task, "/drift_us") / 1e6;
      if (!(std::abs(moved) > kNotable * Number(phase, "/seconds"))) continue;
      text += fmt::format(
          "! {}: the clock of task {} on {} moved by {} s against that of task 0, so when it began "
          "and ended is not known, and the rate and the seconds of the phase are not sure\n",
          RowName(run, phase, ""), FigureText(task, "/task"), FigureText(task, "/host"),
          Short(moved));
    }
  });
  return text;
}

// Returns the notes of the document, except those on refused settings, which Doubts prints.
std::string NoteLines(const json& document) {
  std::string text;
  const json none = json::array();
  for (const json& note : document.value("notes", none)) {
    const auto sentence = note.get<std::string>();
    const json& refused = document.value("not_in_force", none);
    const bool told = std::any_of(refused.begin(), refused.end(), [&](const json& setting) {
      return sentence.starts_with("--" + FigureText(setting, "/option") + " ");
    });
    if (!told) text += "note: " + OneLine(sentence) + "\n";
  }
  return text;
}

// Returns whether the text begins a JSON document that has no end.
bool IsCutOff(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    }
  }
  return text[text.find_first_not_of(" \n\r\t")] == '{' && depth > 0;
}

// Returns what `text` is, for a sentence. It is no results file of this version.
std::string WhatElse(const std::string& text, const json& document) {
  if (document.is_discarded()) {
    if (text.find_first_not_of(" \n\r\t") == std::string::npos) return "it is empty";
    return IsCutOff(text) ? "it is cut off: the document has no end, so what wrote it "
                            "was killed or had no room"
                          : "it is no JSON";
  }
  const std::string schema =
      document.is_object() ? FigureText(document, "/schema") : std::string("-");
  for (const std::string known : {kResultsSchema, kAbSchema}) {
    if (schema == known || !schema.starts_with(known.substr(0, known.find('/') + 1))) continue;
    return fmt::format("it has the schema {} of another version of testbed, and this one reads {}",
                       schema, known);
  }
  if (schema.starts_with("testbed-")) {
    return fmt::format("it is a document of testbed, of the schema {}, but not of a run", schema);
  }
  return "it is JSON of another program: its \"schema\" is not " + std::string(kResultsSchema);
}

}  // namespace

std::vector<std::string> FailedRunLines(const json& document) {
  std::vector<std::string> lines;
  const double tasks = Number(document, "/options/tasks", 1);
  const std::string in_tasks = tasks > 1 ? fmt::format(" x {} tasks", Whole(tasks)) : "";
  for (const json& run : document.at("runs")) {
    if (!run.contains("error")) continue;
    lines.push_back(fmt::format("! the run of {} thr{}{} failed: {}\n", FigureText(run, "/threads"),
                                in_tasks, WhichRun(run), FigureText(run, "/error/sentence")));
  }
  return lines;
}

std::string Doubts(const json& document) {
  std::string text = ForeignCpuLine(document) + StealLine(document) + PreparingLine(document) +
                     FellBehindLines(document) + OtherAnswersLines(document) +
                     ShorterWalksLines(document) + UnansweredLines(document) +
                     TasksApartLines(document) + ClocksApartLines(document);
  const json none = json::array();
  for (const json& setting : document.value("not_in_force", none)) {
    text += fmt::format("! --{} is not in force: {}\n", FigureText(setting, "/option"),
                        FigureText(setting, "/why"));
  }
  const std::string file_system = FigureText(document, "/machine/file_system");
  if ((file_system == "tmpfs" || file_system == "ramfs") &&
      Number(document, "/options/ram", 0) > 0) {
    text += fmt::format(
        "! the database is on {}, whose files are memory: they count in --ram, and no device is "
        "read\n",
        file_system);
  }
  return text;
}

std::string Remarks(const json& document) {
  return FoundRateLines(document) + EndedLines(document) + ReadaheadLines(document) +
         LogPartsLine(document) + ChecksLine(document) + ClosedLoopLine(document);
}

std::string ReportText(const json& document, const ReportStyle& style) {
  std::string head;
  for (const std::string& line : FailedRunLines(document)) head += line;
  head += Doubts(document) + Header(document);
  std::string tables;
  for (const Table& table : RunTables(document)) {
    if (table.empty()) continue;
    tables += style.markdown ? table.Markdown(style.wide) : table.Text(style.most());
  }
  std::string foot = Remarks(document) + ClosureLines(document) + NoteLines(document);
  if (document.value("partial", false)) foot += "PARTIAL: a run was interrupted\n";
  if (style.markdown) return Fenced(head) + "\n" + tables + Fenced(foot);
  return Wrapped(head, style.most()) + tables + Wrapped(foot, style.most());
}

void CheckRoomForDocument(const std::string& path, uint64_t bytes, const std::string& meminfo) {
  // A document takes about three times the bytes of its text, which is in memory beside it.
  constexpr uint64_t kTakenPerByte = 4;
  const auto kib = [&](const char* key) { return FindNumber(meminfo, key).value_or(0); };
  const uint64_t free = (kib("MemAvailable:") + kib("SwapFree:")) * 1024;
  if (free == 0 || bytes <= free / kTakenPerByte) return;
  throw Error(Error::kUsage,
              fmt::format("{} has {}, which take about {} of memory, and {} are free; give fewer "
                          "or shorter runs in one file, or read it on a larger machine",
                          path, SizeText(bytes), SizeText(bytes * kTakenPerByte), SizeText(free)));
}

DocumentFile ReadDocumentFile(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    throw Error(Error::kUsage,
                fmt::format("{} is a directory; give a file written by --json in it", path));
  }
  // Pipes have no size, so only regular files are checked. The reader itself refuses a file of more
  // than kMostDocumentBytes.
  constexpr uint64_t kLong = 64 << 20;
  const uint64_t bytes = std::filesystem::file_size(path, none);
  if (!none && bytes > kLong && bytes <= kMostDocumentBytes) {
    CheckRoomForDocument(path, bytes, ReadSmallFile("/proc/meminfo").value_or(""));
  }
  DocumentFile file{path, "", {}};
  file.text = path == "-" ? ReadStandardInput()
                          : InputFile({.path = path,
                                       .name = path,
                                       .advice = "give a file written by --json",
                                       .pipes = true,
                                       .if_long = "give fewer or shorter runs in one file"})
                                .ReadAll();
  file.document = ParseJson(file.text);
  if (!file.document.is_discarded()) file.text = std::string();
  return file;
}

json ResultsOf(DocumentFile file) {
  json& document = file.document;
  if (document.is_discarded() || !document.is_object() ||
      document.value("schema", json()) != kResultsSchema) {
    throw Error(Error::kUsage, fmt::format("{} is not a results file of this version: {}",
                                           file.path, WhatElse(file.text, document)));
  }
  // The document is accepted if every report of it can be printed.
  try {
    (void)ReportText(document);
    (void)RunsCsv({&document});
    (void)SeriesCsv({&document});
    (void)ComparisonText(CompareDocuments(document, document, {}));
  } catch (const json::exception& e) {
    throw Error(Error::kUsage,
                fmt::format("{} is damaged, or not a results file of this version: {}", file.path,
                            JsonErrorText(e)));
  }
  return std::move(document);
}

json ReadResults(const std::string& path) { return ResultsOf(ReadDocumentFile(path)); }

std::vector<std::string> JsonFilesIn(const std::string& directory) {
  std::vector<std::string> files;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code gone;
    if (at->is_regular_file(gone) && at->path().extension() == ".json") {
      files.push_back(at->path().string());
    }
  }
  if (error) {
    throw Error(Error::kUsage, fmt::format("{} cannot be read: {}", directory, error.message()));
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace testbed
