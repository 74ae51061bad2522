// A profile of this process by perf, where it is there: which functions had the processor.
//
//   CpuProfile profile;                    // starts `perf record` on this process
//   ...
//   for (const CpuProfile::Function& f : profile.Stop()) ...   // the most samples first
//
// perf takes a sample each millisecond of processor time, of all threads. Without perf, or where it
// may not look, there are no functions and why() says so.
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
    std::string name, program;  // mangled, or an address where it has no name; and whose it is
    double share;               // of all samples
  };

  CpuProfile();
  ~CpuProfile();
  CpuProfile(const CpuProfile&) = delete;
  CpuProfile& operator=(const CpuProfile&) = delete;

  std::vector<Function> Stop();
  const std::string& why() const { return why_; }  // why there are no functions

 private:
  void End();

  pid_t perf_ = -1;
  std::string file_;  // of samples
  std::string why_;
};

// The lines of `perf report -F overhead,dso,symbol`: "    15.83%  libc.so.6  [.] free".
std::vector<CpuProfile::Function> ParsePerfReport(std::string_view report);
// Whether a function is malloc, free or one of those that they are made of.
bool IsAllocation(std::string_view function);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_CPU_PROFILE_H_
