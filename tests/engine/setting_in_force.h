// Finds one of the settings that an engine tells to be in force.
#ifndef TESTBED_TESTS_ENGINE_SETTING_IN_FORCE_H_
#define TESTBED_TESTS_ENGINE_SETTING_IN_FORCE_H_

#include <string>

#include "engines/engine.h"

namespace testbed {

// Returns the value of the setting among Engine::EffectiveSettings; "(none)" when it is not there.
inline std::string SettingInForce(const Engine& engine, const std::string& wanted) {
  for (const auto& [name, value] : engine.EffectiveSettings()) {
    if (name == wanted) return value;
  }
  return "(none)";
}

}  // namespace testbed

#endif  // TESTBED_TESTS_ENGINE_SETTING_IN_FORCE_H_
