#include "tools/inspect/doctor_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "tools/inspect/doctor.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

std::string DoctorText(const std::string& directory) {
  std::string text;
  for (const Check& check : Doctor(directory)) {
    text += fmt::format("{:<8} {}: {}\n", CheckStateName(check.state), check.name, check.found);
    if (check.state == Check::State::kOk) continue;
    if (!check.means.empty()) text += fmt::format("         it means: {}\n", check.means);
    if (!check.change.empty()) text += fmt::format("         to change it: {}\n", check.change);
  }
  return text;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, std::function<int()>* command) {
  auto directory = std::make_shared<std::string>(".");
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Say what this machine can and cannot measure, and how to change that");
  doctor->footer(
      "\nExamples:\n"
      "  testbed doctor\n"
      "  testbed doctor --dir /mnt/nvme\n"
      "      the same for another device\n");
  AddDirectoryOption(*doctor, "--dir", directory.get(), "Directory that would hold the database");
  doctor->callback([directory, command] {
    *command = [directory] {
      fmt::print("{}", DoctorText(*directory));
      return 0;
    };
  });
}

}  // namespace testbed
