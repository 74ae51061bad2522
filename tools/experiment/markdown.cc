// Formats the findings of an experiment as a section of a Markdown document.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tools/experiment/report.h"
#include "tools/experiment/verdict/added_rounds.h"
#include "tools/experiment/verdict/mixed_texts.h"
#include "tools/experiment/verdict/verdict.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

// Escapes text for a cell of a table, which a | would end; a line break would end the row.
std::string Escaped(const std::string& text) {
  std::string escaped;
  for (char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string Heading(const ResultSet& results) {
  const Experiment& e = results.experiment();
  const Circumstances& at = results.circumstances();
  const std::string first = at.first.substr(0, 10), last = at.last.substr(0, 10);
  const std::string foreign = ForeignCpuText(at);
  std::string text = fmt::format(
      "## {}\n\n`{}`: {}{}\n"
      "{}, {} of {}, {}{}; testbed {}.\nMachine: {}. Device: {}.\n{}",
      e.name, results.Command(), e.title, e.title.ends_with('?') ? "" : ".",
      Counted(results.rounds(), "round"), testbed::Count(results.finished_runs()),
      Counted(results.planned_runs(), "cell"), first, first == last ? "" : " to " + last,
      fmt::join(at.versions, ", "), fmt::join(at.machines, "; "), fmt::join(at.devices, ", "),
      foreign.empty() ? "" : "On the machine, " + foreign + ".\n");
  for (const std::string& mixed : MixedTexts(results)) text += "\n! " + mixed + ".\n";
  const std::string looks = LooksText(results.looks());
  if (!e.findings.empty() && !looks.empty()) text += "\n! " + looks + ".\n";
  return text;
}

// Returns the row of a part. Parts of stand-ins are `counted` when the finding has no others.
std::string Row(const PartVerdict& part, bool counted) {
  std::string says = part.stand_in.empty() ? part.says
                                           : fmt::format("*stand-in {}{}:* {}", part.stand_in,
                                                         counted ? "" : ", not counted", part.says);
  if (!part.false_if.empty()) says += " *False if " + part.false_if + ".*";
  std::string outcome = OutcomeName(part.outcome);
  if (!part.because.empty()) outcome += ": " + part.because;
  if (part.outcome == PartVerdict::kCannotTell) {
    outcome += part.at_mean ? "; true at their mean" : "; not true at their mean";
  }
  return fmt::format("| {} | {} | {} | {} | {} |\n", Escaped(says), Escaped(part.published),
                     Escaped(part.ours), part.certainty ? Percent(part.certainty->share()) : "",
                     Escaped(outcome));
}

// Returns the memory that the engines of a finding held, and where parts compared engines that held
// unequal memory, phases that ended early, or cells of several hosts.
std::string Terms(const Verdict& verdict) {
  std::string text;
  if (!verdict.held.empty()) text += fmt::format("\nMemory held: {}.\n", verdict.held);
  std::vector<std::string> told;
  for (const PartVerdict& part : verdict.parts) {
    std::vector<std::string> lines = part.hosts;
    if (!part.ended_early.empty()) lines.insert(lines.begin(), part.ended_early);
    if (!part.unequal_memory.empty()) lines.insert(lines.begin(), part.unequal_memory);
    for (const std::string& line : lines) {
      if (std::find(told.begin(), told.end(), line) != told.end()) continue;
      told.push_back(line);
      text += fmt::format("\n{} (of \"{}\")\n", line, part.says);
    }
  }
  return text;
}

// Returns the text without tags of HTML and control characters: the title and the claims of an
// experiment are text, whoever wrote it. A < that compares two values stays.
std::string WithoutTags(const std::string& text) {
  std::string without;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = i + 1 < text.size() ? text[i + 1] : ' ';
    const bool letter = (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z');
    const bool tag = text[i] == '<' && (letter || next == '/' || next == '!' || next == '?');
    without += tag ? "&lt;" : std::string(1, text[i]);
  }
  return SeveralLines(without);
}

}  // namespace

std::string FindingsMarkdown(const ResultSet& results) {
  std::string text = Heading(results);
  for (const Verdict& v : CheckFindings(results)) {
    text += fmt::format("\n### {}: {}\n\n{}\n", v.id, VerdictText(v), v.claim);
    if (!v.systems.empty()) text += fmt::format("\nSystem: {}\n", v.systems);
    if (!v.because.empty()) text += fmt::format("\n{}\n", v.because);
    if (!v.parts.empty()) {
      text +=
          "\n| part | published | ours | true in resampled rounds | outcome |\n"
          "|---|---|---|---|---|\n";
      for (const PartVerdict& part : v.parts) text += Row(part, !v.on_stand_in.empty());
    }
    text += Terms(v);
    for (const std::string& mechanism : v.mechanisms) text += fmt::format("\n{}\n", mechanism);
  }
  return WithoutTags(text);
}

}  // namespace testbed
