// The engine on cling, as the Python package cppyy-cling ships it (behind ROOT's TInterpreter).
#include <TDictionary.h>
#include <TInterpreter.h>
#include <TROOT.h>
#include <dlfcn.h>

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "panto/apps/repl/engine/engine.h"
#include "panto/apps/repl/process.h"
#include "panto/apps/repl/text/tokens.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"
#include "panto/lib/base/file.h"

// libstdc++ 12 declares std::allocator<char>'s members extern in C++20 but does not ship them. Code that the
// interpreter compiles without inlining looks for them in the process, so they are defined here.
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

// Returns `f(a)[0].b` for `y = f(a)[0].b`.
std::string last_operand(const std::string& code) {
  const std::vector<Token> tokens = scan(code).list;
  size_t begin = code.size();
  int depth = 0;
  for (auto t = tokens.rbegin(); t != tokens.rend(); ++t) {
    if (depth == 0 && t->end() != begin) break;  // `return t`
    const bool closes = t->is(")") || t->is("]") || t->is("}"), opens = t->is("(") || t->is("[") || t->is("{");
    depth += closes ? 1 : opens ? -1 : 0;
    const bool part = closes || opens || t->is_name() || t->is(".") || t->is("->") || t->is("::");
    if (depth < 0 || (depth == 0 && !part)) break;
    begin = t->offset;
  }
  return code.substr(begin);
}

// Returns the flags as one string, for the environment variable that cling reads.
std::string compiler_flags() {
  std::string text;
  for (const char* flag : kCompilerFlags) text.append(text.empty() ? "" : " ").append(flag);
  return text;
}

// Runs the package's own tool, which writes the format that its interpreter reads.
bool precompile(const EngineOptions& options, const std::string& header, const std::string& output,
                const std::string& dependencies) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(output).parent_path();
  // The tool needs a source file of this name, which it also writes, and a list of classes to describe, which is empty.
  const fs::path source = folder / "allDict.cxx", result = folder / "allDict_rdict.pch", none = folder / "LinkDef.h";
  write_file(none.string(), "");
  const std::string arguments = compiler_flags() + " -MD -MF " + dependencies + " -MT header";
  ::setenv("EXTRA_CLING_ARGS", arguments.c_str(), 1);
  const std::string home = PANTO_CLING_HOME;
  ::setenv("LD_LIBRARY_PATH", (home + "/lib").c_str(), 1);
  std::vector<std::string> command = {home + "/bin/rootcling", "-generate-pch", "-f", source.string(),
                                      "-noDictSelection"};
  for (const char* own : {"/include", "/etc", "/etc/cling"}) {
    command.push_back("-I" + home + own);
  }
  for (const std::string& include : options.include_folders) command.push_back("-I" + include);
  command.insert(command.end(), {"-cxxflags", "-std=c++20", header, none.string()});
  if (!run_program(command)) return false;
  std::error_code error;
  fs::rename(result, output, error);
  return !error;
}

class ClingEngine final : public Engine {
 public:
  explicit ClingEngine(const EngineOptions& options) {
    ::setenv("EXTRA_CLING_ARGS", compiler_flags().c_str(), 1);
    ::setenv("CLING_STANDARD_PCH", options.precompiled.empty() ? "none" : options.precompiled.c_str(), 1);
    // cling opens these by their bare names, which works once they are loaded.
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
    // Passes obey the pragma at once, but the code generator only one piece later, so a dummy piece comes first.
    // Without it, an addition of two tensors in a loop took 1.5 times as long after an unoptimized input.
    if (optimize && !optimized_) {
      const std::string piece = "void panto_repl_optimize" + std::to_string(++switches_) + "() {}\n";
      interpreter_->Declare((kOptimize + piece).c_str());
    }
    optimized_ = optimize;
    return interpreter_->Declare(((optimize ? kOptimize : "#pragma cling optimize(0)\n") + code).c_str());
  }
  std::vector<std::string> complete(const std::string& code) override {
    std::vector<std::string> found;
    size_t cursor = code.size();
    interpreter_->CodeComplete(code, cursor, found);
    std::set<std::string> names;
    for (const std::string& candidate : found) names.insert(plain_name(candidate));
    // cling's own completion finds members only of classes whose definitions it can copy.
    const bool arrow = code.ends_with("->");
    if (arrow || code.ends_with(".")) {
      const std::string object = last_operand(code.substr(0, code.size() - (arrow ? 2 : 1)));
      add_members((arrow ? "*(" : "(") + object + ")", names);
    } else if (code.ends_with("::")) {
      // For a namespace, only non-templates: templates have no reflection.
      auto* scope = interpreter_->ClassInfo_Factory(last_operand(code.substr(0, code.size() - 2)).c_str());
      if (interpreter_->ClassInfo_IsValid(scope)) add_members(scope, names);
    }
    return {names.begin(), names.end()};
  }

 private:
  void add_members(const std::string& object, std::set<std::string>& names) {
    constexpr const char* kType = "panto_repl_completed";
    const std::string type = "std::remove_cvref_t<decltype(" + object + ")>";
    if (!interpreter_->Declare(("using " + std::string(kType) + " = " + type + ";").c_str())) return;
    auto* info = interpreter_->ClassInfo_Factory(kType);
    add_members(info, names);
    auto* base = interpreter_->BaseClassInfo_Factory(info);
    while (interpreter_->BaseClassInfo_Next(base) != 0) add_members(interpreter_->BaseClassInfo_ClassInfo(base), names);
  }
  void add_members(CppyyLegacy::ClassInfo_t* info, std::set<std::string>& names) {
    const auto add = [&](long property, const char* name, const char* after) {
      if (name == nullptr) return;  // std::vector has a using-declaration among its functions
      const bool named = std::isalpha(static_cast<unsigned char>(*name)) != 0 && std::strchr(name, ' ') == nullptr &&
                         std::strncmp(name, "operator", 8) != 0;
      if ((property & CppyyLegacy::kIsPublic) != 0 && named) names.insert(std::string(name) + after);
    };
    auto* method = interpreter_->MethodInfo_Factory(info);
    while (interpreter_->MethodInfo_Next(method) != 0) {
      constexpr long kMadeAndEnded = CppyyLegacy::kIsConstructor | CppyyLegacy::kIsDestructor;
      if ((interpreter_->MethodInfo_ExtraProperty(method) & kMadeAndEnded) != 0) continue;
      add(interpreter_->MethodInfo_Property(method), interpreter_->MethodInfo_Name(method), "(");
    }
    auto* data = interpreter_->DataMemberInfo_Factory(info);
    while (interpreter_->DataMemberInfo_Next(data) != 0) {
      add(interpreter_->DataMemberInfo_Property(data), interpreter_->DataMemberInfo_Name(data), "");
    }
  }

  static inline const std::string kOptimize = "#pragma cling optimize(2)\n";
  CppyyLegacy::TInterpreter* interpreter_;
  bool optimized_ = true;  // of the last declaration
  int switches_ = 0;
};

}  // namespace
}  // namespace panto::repl

extern "C" PANTO_EXPORT panto::repl::Engine* panto_repl_engine(const panto::repl::EngineOptions& options) {
  return new panto::repl::ClingEngine(options);
}

extern "C" PANTO_EXPORT bool panto_repl_precompile(const panto::repl::EngineOptions& options, const std::string& header,
                                                   const std::string& output, const std::string& dependencies) {
  return panto::repl::precompile(options, header, output, dependencies);
}
