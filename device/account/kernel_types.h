// The running kernel's structure layouts, from the type information it carries (BTF, in
// /sys/kernel/btf/vmlinux; linux/Documentation/bpf/btf.rst): at which offset a member lies, what an
// enumerator's value is, which argument of a tracepoint is the one wanted. They change between
// kernel versions and configurations, so a program that reads kernel memory asks for them when it
// starts.
#ifndef TESTBED_DEVICE_ACCOUNT_KERNEL_TYPES_H_
#define TESTBED_DEVICE_ACCOUNT_KERNEL_TYPES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

struct btf;
struct btf_type;

namespace testbed {

class KernelTypes {
 public:
  // Null, and a sentence in *why, when the kernel carries no type information.
  static std::unique_ptr<KernelTypes> Load(std::string* why);
  // From type information in hand, which it owns from then on.
  explicit KernelTypes(btf* types) : btf_(types) {}
  ~KernelTypes();
  KernelTypes(const KernelTypes&) = delete;
  KernelTypes& operator=(const KernelTypes&) = delete;

  struct Member {
    uint32_t offset = 0;  // bytes from the start of the outermost structure
    uint32_t size = 0;
  };
  // The member of a structure, also when it sits in unnamed structures or unions inside it. A dot
  // goes into a named one: Find("bio", "bi_iter.bi_size"). Nothing when there is none.
  std::optional<Member> Find(const std::string& structure, const std::string& member) const;

  // The value of an enumerator of any enumeration.
  std::optional<int64_t> Enumerator(const std::string& name) const;

  // Which argument of a raw tracepoint (counted from 0) is a pointer to the structure.
  std::optional<int> TracepointArgument(const std::string& tracepoint,
                                        const std::string& structure) const;

 private:
  struct Found {
    Member member;
    uint32_t type;
  };
  const btf_type* Resolve(uint32_t id) const;  // through typedefs and qualifiers
  std::optional<Found> FindIn(const btf_type* structure, const std::string& name) const;
  bool IsPointerTo(uint32_t id, const std::string& structure) const;

  btf* btf_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_KERNEL_TYPES_H_
