// Profiles this process with perf, where perf is installed: which functions use the processor.
//
//   CpuProfile profile;                    // starts `perf record` on this process
//   ...
//   for (const CpuProfile::Function& f : profile.Stop()) ...   // most samples first
//
// perf takes a sample of all threads after each millisecond of processor time. Where perf is
// missing or may not observe the process, Stop() returns no functions and why() says why. Not
// thread-safe.
#ifndef TESTBED_WORKLOADS_DOCUMENTS_CPU_PROFILE_H_
#define TESTBED_WORKLOADS_DOCUMENTS_CPU_PROFILE_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace testbed {

class CpuProfile {
 public:
  struct Function {
    std::string name, program;  // mangled name, or an address; its file
    double share;               // share of all samples
  };

  // Starts perf. On failure nothing is recorded and why() says why.
  CpuProfile();
  ~CpuProfile();
  CpuProfile(const CpuProfile&) = delete;
  CpuProfile& operator=(const CpuProfile&) = delete;

  // Ends the recording and returns the functions, most samples first. Call once.
  std::vector<Function> Stop();
  const std::string& why() const { return why_; }  // why Stop() found no functions

 private:
  void End();
  std::string SamplesPath() const;  // path by which perf opens the samples

  pid_t perf_ = -1;
  int samples_ = -1;  // file descriptor of perf's samples
  std::string why_;
};

// Parses lines of `perf report -F overhead,dso,symbol`, such as "    15.83%  libc.so.6  [.] free",
// and returns the functions, most samples first. Other lines are skipped.
std::vector<CpuProfile::Function> ParsePerfReport(std::string_view report);
// Returns whether the function is malloc, free, or one of the functions that implement them: a
// known name, or any function of tcmalloc.
bool IsAllocation(const CpuProfile::Function& sampled);
// Returns whether the function reads the attributes of a document. Functions of the C library that
// compare or measure strings do not count: engines compare keys with them, and perf records no
// callers.
bool ReadsAttributes(const CpuProfile::Function& sampled);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_CPU_PROFILE_H_
