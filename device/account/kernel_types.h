// KernelTypes has the running kernel's structure layouts, read from the type information that the
// kernel carries (BTF, in /sys/kernel/btf/vmlinux; linux/Documentation/bpf/btf.rst): the offsets of
// members, the values of enumerators and the argument types of tracepoints. They change between
// kernel versions and configurations, so a program that reads kernel memory looks them up when it
// starts.
//
//   std::string why;
//   std::unique_ptr<KernelTypes> types = KernelTypes::Load(&why);
//   if (types == nullptr) ...  // *why says what is missing
//   std::optional<KernelTypes::Member> size = types->Find("bio", "bi_iter.bi_size");
//
// Not thread-safe.
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
  // Loads the running kernel's types. Returns null and sets *why to a sentence when the kernel
  // carries no type information.
  static std::unique_ptr<KernelTypes> Load(std::string* why);
  // Takes ownership of `types`.
  explicit KernelTypes(btf* types) : btf_(types) {}
  ~KernelTypes();
  KernelTypes(const KernelTypes&) = delete;
  KernelTypes& operator=(const KernelTypes&) = delete;

  struct Member {
    uint32_t offset = 0;  // bytes from the start of the outermost structure
    uint32_t size = 0;
  };
  // Returns where a member of a structure lies. The member may sit in unnamed structures or unions
  // inside the structure; a dot leads into a named structure, as in "bi_iter.bi_size". Returns
  // nothing when there is no such member or when it is a bit field.
  std::optional<Member> Find(const std::string& structure, const std::string& member) const;

  // Returns the value of the enumerator, in whichever enumeration it is; nothing when none has it.
  std::optional<int64_t> Enumerator(const std::string& name) const;

  // Returns the index, from 0, of the first argument of a raw tracepoint that is a pointer to the
  // structure. Returns nothing when the kernel has no such tracepoint or argument.
  std::optional<int> TracepointArgument(const std::string& tracepoint,
                                        const std::string& structure) const;

 private:
  struct Found {
    Member member;
    uint32_t type;
  };
  const btf_type* Resolve(uint32_t id) const;  // looks through typedefs and qualifiers
  std::optional<Found> FindIn(const btf_type* structure, const std::string& name) const;
  bool IsPointerTo(uint32_t id, const std::string& structure) const;

  btf* btf_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_KERNEL_TYPES_H_
