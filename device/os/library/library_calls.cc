#include "device/os/library/library_calls.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace testbed {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kSlotTypes[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#elif defined(__aarch64__)
constexpr uint32_t kSlotTypes[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#else
constexpr uint32_t kSlotTypes[] = {UINT32_MAX};
#endif

// A Relocations points to the tables of a library's relocations, which the library's dynamic
// section names.
struct Relocations {
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  struct {
    const ElfW(Rela) * begin = nullptr;
    size_t bytes = 0;
  } of_calls, others;
};

template <typename T>
const T* AddressIn(const link_map& library, ElfW(Addr) address) {
  // glibc's loader has made these addresses absolute. Another loader leaves them relative to the
  // library.
  return reinterpret_cast<const T*>(address < library.l_addr ? address + library.l_addr : address);
}

Relocations RelocationsOf(const link_map& library) {
  Relocations found;
  bool have_addends = true;
  for (const ElfW(Dyn)* entry = library.l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_STRTAB:
        found.strings = AddressIn<char>(library, entry->d_un.d_ptr);
        break;
      case DT_SYMTAB:
        found.symbols = AddressIn<ElfW(Sym)>(library, entry->d_un.d_ptr);
        break;
      case DT_JMPREL:
        found.of_calls.begin = AddressIn<ElfW(Rela)>(library, entry->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        found.of_calls.bytes = entry->d_un.d_val;
        break;
      case DT_PLTREL:
        have_addends = entry->d_un.d_val == DT_RELA;
        break;
      case DT_RELA:
        found.others.begin = AddressIn<ElfW(Rela)>(library, entry->d_un.d_ptr);
        break;
      case DT_RELASZ:
        found.others.bytes = entry->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (!have_addends || found.strings == nullptr || found.symbols == nullptr) return {};
  return found;
}

// ReadOnly is the part of a library's memory that the loader made read-only after it had relocated
// the library.
struct ReadOnly {
  const ElfW(Addr) base;  // address at which the library was loaded
  ElfW(Addr) begin = 0, end = 0;
};

int FindReadOnly(dl_phdr_info* info, size_t, void* data) {
  auto* const found = static_cast<ReadOnly*>(data);
  if (info->dlpi_addr != found->base) return 0;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    found->begin = info->dlpi_addr + header.p_vaddr;
    found->end = found->begin + header.p_memsz;
  }
  return 1;
}

// Returns false when the page cannot be made writable.
bool Replace(const ReadOnly& read_only, ElfW(Addr) slot, void* function) {
  const auto page_bytes = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  auto* const page = reinterpret_cast<void*>(slot / page_bytes * page_bytes);
  const bool closed = slot >= read_only.begin && slot < read_only.end;
  if (closed && ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref<void*>(*reinterpret_cast<void**>(slot)).store(function);
  if (closed) ::mprotect(page, page_bytes, PROT_READ);
  return true;
}

}  // namespace

size_t ReplaceCalls(void* library, std::span<const LibraryCall> calls) {
  link_map* map = nullptr;
  if (::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return 0;
  const Relocations relocations = RelocationsOf(*map);
  if (relocations.symbols == nullptr) return 0;
  ReadOnly read_only{map->l_addr};
  ::dl_iterate_phdr(FindReadOnly, &read_only);
  size_t replaced = 0;
  for (const LibraryCall& call : calls) {
    bool is_called = false;
    for (const auto& part : {relocations.of_calls, relocations.others}) {
      for (size_t i = 0; i < part.bytes / sizeof(ElfW(Rela)); ++i) {
        const ElfW(Rela)& relocation = part.begin[i];
        const auto type = static_cast<uint32_t>(ELF64_R_TYPE(relocation.r_info));
        if (type != kSlotTypes[0] && type != kSlotTypes[std::size(kSlotTypes) - 1]) continue;
        const ElfW(Sym)& symbol = relocations.symbols[ELF64_R_SYM(relocation.r_info)];
        if (std::strcmp(relocations.strings + symbol.st_name, call.name) != 0) continue;
        is_called |= Replace(read_only, map->l_addr + relocation.r_offset, call.function);
      }
    }
    replaced += is_called ? 1 : 0;
  }
  return replaced;
}

}  // namespace testbed
