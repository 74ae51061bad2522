#include "tools/report/report_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/report/compare.h"
#include "tools/report/report.h"

namespace testbed {

void AddReportCommands(CLI::App& app, std::function<int()>* command) {
  auto files = std::make_shared<std::vector<std::string>>();
  auto as_csv = std::make_shared<bool>(false);
  CLI::App* report = app.add_subcommand("report", "Print the tables of a results file");
  report->add_option("file", *files, "Results written by --json")->required()->expected(1);
  report->add_flag("--csv", *as_csv, "As comma-separated values");
  report->callback([files, as_csv, command] {
    *command = [files, as_csv] {
      const nlohmann::json document = ReadResults(files->front());
      fmt::print("{}", *as_csv ? ReportCsv(document) : ReportText(document));
      return 0;
    };
  });
  CLI::App* compare = app.add_subcommand("compare", "Set two results files side by side");
  compare->add_option("files", *files, "The base and the other")->required()->expected(2);
  compare->callback([files, command] {
    *command = [files] {
      fmt::print("{}", CompareText(ReadResults(files->front()), ReadResults(files->back())));
      return 0;
    };
  });
}

}  // namespace testbed
