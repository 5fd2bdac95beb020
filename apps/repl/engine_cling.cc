// The engine on cling, as the Python package cppyy-cling ships it (behind ROOT's TInterpreter).
#include <TInterpreter.h>
#include <TROOT.h>
#include <dlfcn.h>

#include <cstdlib>
#include <set>

#include "panto/apps/repl/engine.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"

// libstdc++ 12 declares std::allocator<char>'s members extern in C++20 and does not ship them: code that the
// interpreter compiles without inlining looks for them in the process.
extern "C" {
PANTO_EXPORT char* panto_allocate_chars(void* self, size_t n) __asm__("_ZNSaIcE8allocateEm");
PANTO_EXPORT void panto_deallocate_chars(void* self, char* p, size_t n) __asm__("_ZNSaIcE10deallocateEPcm");
PANTO_EXPORT wchar_t* panto_allocate_wide(void* self, size_t n) __asm__("_ZNSaIwE8allocateEm");
PANTO_EXPORT void panto_deallocate_wide(void* self, wchar_t* p, size_t n) __asm__("_ZNSaIwE10deallocateEPwm");

char* panto_allocate_chars(void*, size_t n) { return static_cast<char*>(::operator new(n)); }
void panto_deallocate_chars(void*, char* p, size_t) { ::operator delete(p); }
wchar_t* panto_allocate_wide(void*, size_t n) { return static_cast<wchar_t*>(::operator new(n * sizeof(wchar_t))); }
void panto_deallocate_wide(void*, wchar_t* p, size_t) { ::operator delete(p); }
}

namespace panto::repl {
namespace {

// cling describes a candidate as "[#Tensor#]at(<#std::initializer_list<long> index#>)[# const#]".
std::string plain_name(const std::string& candidate) {
  std::string name = candidate;
  while (name.starts_with("[#")) {
    const size_t end = name.find("#]");
    if (end == std::string::npos) break;
    name.erase(0, end + 2);
  }
  const size_t end = name.find_first_of("(<[ ");
  const bool call = end != std::string::npos && name[end] == '(';
  return name.substr(0, end) + (call ? "(" : "");
}

class ClingEngine final : public Engine {
 public:
  explicit ClingEngine(const EngineOptions& options) {
    // Optimized, C++20, no precompiled header of its own, which would have to fit the machine's standard library.
    ::setenv("EXTRA_CLING_ARGS",
             "-std=c++20 -O2 -w -fno-finite-loops -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer "
             "-fno-caret-diagnostics",
             1);
    ::setenv("CLING_STANDARD_PCH", "none", 1);
    // It opens these by their bare names, which are found once they are loaded.
    for (const char* name : {"libThreadLegacy.so", "libRIOLegacy.so", "libCling.so"}) {
      const std::string path = std::string(PANTO_CLING_HOME "/lib/") + name;
      if (::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        fail(Code::kUnavailable, std::string("cling: cannot be opened: ") + ::dlerror());
      }
    }
    gROOT->GetName();  // makes the interpreter
    interpreter_ = CppyyLegacy::TInterpreter::Instance();
    if (interpreter_ == nullptr) fail(Code::kUnavailable, "cling: expected an interpreter, got none");
    for (const std::string& folder : options.include_folders) interpreter_->AddIncludePath(folder.c_str());
  }

  std::string version() const override { return "cling " PANTO_CLING_VERSION; }
  bool declare(const std::string& code, bool optimize) override {
    return interpreter_->Declare(
        ((optimize ? "#pragma cling optimize(2)\n" : "#pragma cling optimize(0)\n") + code).c_str());
  }
  std::vector<std::string> complete(const std::string& code) override {
    std::vector<std::string> found;
    size_t cursor = code.size();
    interpreter_->CodeComplete(code, cursor, found);
    std::set<std::string> names;
    for (const std::string& candidate : found) names.insert(plain_name(candidate));
    return {names.begin(), names.end()};
  }

 private:
  CppyyLegacy::TInterpreter* interpreter_;
};

}  // namespace
}  // namespace panto::repl

extern "C" PANTO_EXPORT panto::repl::Engine* panto_repl_engine(const panto::repl::EngineOptions& options) {
  return new panto::repl::ClingEngine(options);
}
