// The functions that the samples of headers call without declaring them. They stand for functions
// of the reader.
#ifndef TESTBED_TESTS_SAMPLES_PRELUDE_H_
#define TESTBED_TESTS_SAMPLES_PRELUDE_H_

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

template <class... T>
void Use(const T&...);
template <class... T>
void Print(const T&...);
template <class... T>
void Say(const T&...);
template <class... T>
void Apply(const T&...);
template <class... T>
void Replay(const T&...);
template <class... T>
void Copy(const T&...);
template <class... T>
void Change(T&&...);
template <class... T>
void Close(T&&...);
template <class... T>
void WaitUntil(const T&...);
template <class... T>
std::string Name(const T&...);
void Sync();
int Run();

}  // namespace testbed

#endif  // TESTBED_TESTS_SAMPLES_PRELUDE_H_
