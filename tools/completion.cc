#include "tools/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "engines/registry.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

std::string OptionWords(const CLI::App& app) {
  std::string words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words += " --" + name;
  }
  return words;
}

std::string SubcommandWords(const CLI::App& app) {
  std::string words;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) words += " " + sub->get_name();
  return words;
}

// Escapes `text` for roff, which takes a leading dot or quote for a request and a bare dash for a
// hyphen.
std::string Roff(const std::string& text) {
  std::string out;
  bool line_start = true;
  for (char c : text) {
    if (line_start && (c == '.' || c == '\'')) out += "\\&";
    out += c == '-' ? "\\-" : c == '\\' ? "\\e" : std::string(1, c);
    line_start = c == '\n';
  }
  return out;
}

std::string RoffOptions(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    std::string name =
        option->get_lnames().empty() ? option->get_name() : "--" + option->get_lnames()[0];
    text += fmt::format(".TP\n.B {} \\fI{}\\fR\n{}\n", Roff(name), Roff(option->get_type_name()),
                        Roff(option->get_description()));
  }
  return text;
}

}  // namespace

std::string BashCompletion(const CLI::App& app) {
  std::string engines, workloads, subcommands;
  for (const EngineInfo& info : Engines()) engines += " " + info.name;
  for (const WorkloadInfo& info : Workloads()) workloads += " " + info.name;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    subcommands += fmt::format("    {}) words='{}{}' ;;\n", sub->get_name(), OptionWords(*sub),
                               SubcommandWords(*sub));
  }
  return fmt::format(
      "# bash completion of testbed; made by `testbed completion bash`\n"
      "_testbed() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words\n"
      "  case $previous in\n"
      "    --engine) words='{}' ;;\n"
      "    --workload) words='{}' ;;\n"
      "    --io) words='direct buffered mmap' ;;\n"
      "    --durability) words='sync lazy none' ;;\n"
      "    --distribution) words='uniform zipfian latest hot' ;;\n"
      "    --account) words='off file kernel device' ;;\n"
      "    --key-order) words='sequential random permuted' ;;\n"
      "    --verify) words='none sample all' ;;\n"
      "    --dir|--json|--csv|--keys|report|compare|check|tree) COMPREPLY=($(compgen -f -- "
      "\"$current\")); "
      "return ;;\n"
      "    *) case ${{COMP_WORDS[1]}} in\n{}"
      "    *) words='{}{}' ;; esac ;;\n"
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}}\n"
      "complete -F _testbed testbed\n",
      engines, workloads, subcommands, OptionWords(app), SubcommandWords(app));
}

std::string ManPage(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH TESTBED 1\n.SH NAME\ntestbed \\- measure storage engines, block by block\n"
      ".SH SYNOPSIS\n.B testbed\n\\-\\-engine NAME [options]\n.br\n.B testbed\nCOMMAND [options]\n"
      ".SH DESCRIPTION\n{}\n.SH OPTIONS\n{}.SH COMMANDS\n",
      Roff(app.get_description()), RoffOptions(app));
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    text += fmt::format(".SS {}\n{}\n{}", Roff(sub->get_name()), Roff(sub->get_description()),
                        RoffOptions(*sub));
  }
  text +=
      ".SH EXIT STATUS\n0 when all went well; 1 when a run failed; 2 for a wrong option or "
      "surroundings;"
      " 130 when it was interrupted.\n.SH EXAMPLES\n.nf\n" +
      Roff(app.get_footer()) + "\n.fi\n";
  return text;
}

}  // namespace testbed
