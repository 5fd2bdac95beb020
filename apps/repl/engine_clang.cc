// The engine on clang's own interpreter, as Debian ships it.
#include <clang/Basic/Version.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Interpreter/Interpreter.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/TargetSelect.h>

#include <cstdio>
#include <memory>

#include "panto/apps/repl/engine.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"

namespace panto::repl {
namespace {

[[noreturn]] void unavailable(llvm::Error error) {
  fail(Code::kUnavailable, "clang: cannot be started: " + llvm::toString(std::move(error)));
}

class ClangEngine final : public Engine {
 public:
  explicit ClangEngine(const EngineOptions& options) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    std::vector<std::string> owned = {
        "-std=c++20", "-O2", "-w", "-fno-caret-diagnostics", "-fno-color-diagnostics",
        // Where a constructor is emitted as an alias of another, the JIT loses it, and std::vector with it.
        "-Xclang", "-mno-constructor-aliases"};
    for (const std::string& folder : options.include_folders) owned.push_back("-I" + folder);
    if (!options.headers.empty()) owned.insert(owned.end(), {"-include-pch", options.headers});
    std::vector<const char*> arguments;
    for (const std::string& a : owned) arguments.push_back(a.c_str());
    clang::IncrementalCompilerBuilder builder;
    builder.SetCompilerArgs(arguments);
    auto compiler = builder.CreateCpp();
    if (!compiler) unavailable(compiler.takeError());
    auto interpreter = clang::Interpreter::create(std::move(*compiler));
    if (!interpreter) unavailable(interpreter.takeError());
    interpreter_ = std::move(*interpreter);
  }

  std::string version() const override { return "clang " CLANG_VERSION_STRING; }

  bool declare(const std::string& code, bool optimize) override {
    auto& options = const_cast<clang::CompilerInstance*>(interpreter_->getCompilerInstance())->getCodeGenOpts();
    options.OptimizationLevel = optimize ? 2 : 0;
    llvm::Error error = interpreter_->ParseAndExecute(code);
    if (!error) return true;
    std::fprintf(stderr, "%s\n", llvm::toString(std::move(error)).c_str());
    return false;
  }

  std::vector<std::string> complete(const std::string& code) override {
    static_cast<void>(code);
    return {};
  }

 private:
  std::unique_ptr<clang::Interpreter> interpreter_;
};

}  // namespace
}  // namespace panto::repl

extern "C" PANTO_EXPORT panto::repl::Engine* panto_repl_engine(const panto::repl::EngineOptions& options) {
  return new panto::repl::ClangEngine(options);
}
