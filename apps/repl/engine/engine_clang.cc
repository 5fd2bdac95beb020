// The engine on clang's own interpreter, as Debian ships it.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/ExternalASTSource.h>
#include <clang/Basic/Version.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendActions.h>
#include <clang/Interpreter/Interpreter.h>
#include <clang/Lex/Preprocessor.h>
#include <clang/Sema/CodeCompleteConsumer.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/SemaCodeCompletion.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "panto/apps/repl/engine/engine.h"
#include "panto/lib/base/error.h"
#include "panto/lib/base/export.h"

namespace panto::repl {
namespace {

[[noreturn]] void unavailable(llvm::Error error) {
  fail(Code::kUnavailable, "clang: cannot be started: " + llvm::toString(std::move(error)));
}

// Collects the names of completion candidates.
class Names final : public clang::CodeCompleteConsumer {
 public:
  Names() : CodeCompleteConsumer({}), info_(std::make_shared<clang::GlobalCodeCompletionAllocator>()) {}
  clang::CodeCompletionAllocator& getAllocator() override { return info_.getAllocator(); }
  clang::CodeCompletionTUInfo& getCodeCompletionTUInfo() override { return info_; }
  void ProcessCodeCompleteResults(clang::Sema&, clang::CodeCompletionContext, clang::CodeCompletionResult* results,
                                  unsigned count) override {
    for (unsigned i = 0; i < count; ++i) {
      const clang::CodeCompletionResult& r = results[i];
      if (r.Kind == clang::CodeCompletionResult::RK_Keyword) found.insert(r.Keyword);
      if (r.Kind != clang::CodeCompletionResult::RK_Declaration || r.Hidden ||
          r.Availability != CXAvailability_Available || r.Declaration->getIdentifier() == nullptr) {
        continue;
      }
      const bool call = r.Declaration->getAsFunction() != nullptr;
      found.insert(r.Declaration->getName().str() + (call ? "(" : ""));
    }
  }

  std::set<std::string> found;

 private:
  clang::CodeCompletionTUInfo info_;
};

std::unique_ptr<clang::CompilerInstance> make_compiler(const EngineOptions& options) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::vector<std::string> owned(std::begin(kCompilerFlags), std::end(kCompilerFlags));
  owned.emplace_back("-fno-color-diagnostics");
  // The JIT loses constructors emitted as aliases, and std::vector with them.
  owned.insert(owned.end(), {"-Xclang", "-mno-constructor-aliases"});
  for (const std::string& folder : options.include_folders) owned.push_back("-I" + folder);
  if (!options.precompiled.empty()) owned.insert(owned.end(), {"-include-pch", options.precompiled});
  std::vector<const char*> arguments;
  for (const std::string& a : owned) arguments.push_back(a.c_str());
  clang::IncrementalCompilerBuilder builder;
  builder.SetCompilerArgs(arguments);
  auto compiler = builder.CreateCpp();
  if (!compiler) unavailable(compiler.takeError());
  return std::move(*compiler);
}

bool precompile(const EngineOptions& options, const std::string& header, const std::string& output,
                const std::string& dependencies) {
  const std::unique_ptr<clang::CompilerInstance> compiler = make_compiler(options);
  clang::FrontendOptions& frontend = compiler->getFrontendOpts();
  frontend.Inputs = {{header, clang::InputKind(clang::Language::CXX)}};
  frontend.OutputFile = output;
  clang::DependencyOutputOptions& written = compiler->getDependencyOutputOpts();
  written.OutputFile = dependencies;
  written.Targets = {"header"};
  written.IncludeSystemHeaders = true;
  clang::GeneratePCHAction action;
  return compiler->ExecuteAction(action);
}

// Passes definitions that are lazily read from a precompiled header to the code generator. If the reader passed them
// itself, the generator would ignore all after the first input, as it expects them to be for other tools.
class FromHeader final : public clang::ASTConsumer {
 public:
  explicit FromHeader(clang::ASTConsumer& generator) : generator_(generator) {}
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override { return generator_.HandleTopLevelDecl(group); }
  void HandleVTable(clang::CXXRecordDecl* record) override { generator_.HandleVTable(record); }

 private:
  clang::ASTConsumer& generator_;
};

// Reads the members of our classes from the precompiled header, because "did you mean 'shape'?" considers only members
// that are already loaded.
void read_classes(clang::ASTContext& context) {
  for (clang::NamedDecl* name : context.getTranslationUnitDecl()->lookup(&context.Idents.get("panto"))) {
    const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(name);
    if (space == nullptr) continue;
    for (const clang::NamespaceDecl* part : space->redecls()) {
      for (clang::Decl* d : part->decls()) {
        if (auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(d)) record->decls_begin();
      }
    }
  }
}

class ClangEngine final : public Engine {
 public:
  explicit ClangEngine(const EngineOptions& options) {
    auto interpreter = clang::Interpreter::create(make_compiler(options));
    if (!interpreter) unavailable(interpreter.takeError());
    interpreter_ = std::move(*interpreter);
    // The interpreter does not start the reader of a precompiled header.
    auto* compiler = const_cast<clang::CompilerInstance*>(interpreter_->getCompilerInstance());
    if (clang::ExternalASTSource* header = compiler->getASTContext().getExternalSource()) {
      from_header_ = std::make_unique<FromHeader>(compiler->getASTConsumer());
      header->StartTranslationUnit(from_header_.get());
      read_classes(compiler->getASTContext());
    }
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
    auto& compiler = *const_cast<clang::CompilerInstance*>(interpreter_->getCompilerInstance());
    const std::string text = "void panto_complete() { " + code + "\n";
    const auto file =
        compiler.getFileManager().getVirtualFileRef("/panto_complete.cc", static_cast<off_t>(text.size()), 0);
    compiler.getSourceManager().overrideFileContents(file, llvm::MemoryBuffer::getMemBufferCopy(text));
    const auto lines = static_cast<unsigned>(std::ranges::count(text, '\n'));
    const size_t line = text.rfind('\n', text.size() - 2);
    const size_t column = text.size() - (line == std::string::npos ? 0 : line + 1);
    if (compiler.getPreprocessor().SetCodeCompletionPoint(file, lines, static_cast<unsigned>(column))) return {};
    Names names;
    compiler.getSema().CodeCompletion().CodeCompleter = &names;
    llvm::consumeError(interpreter_->Parse("#include \"/panto_complete.cc\"\n").takeError());
    return {names.found.begin(), names.found.end()};
  }

 private:
  std::unique_ptr<FromHeader> from_header_;
  std::unique_ptr<clang::Interpreter> interpreter_;
};

}  // namespace
}  // namespace panto::repl

extern "C" PANTO_EXPORT panto::repl::Engine* panto_repl_engine(const panto::repl::EngineOptions& options) {
  return new panto::repl::ClangEngine(options);
}

extern "C" PANTO_EXPORT bool panto_repl_precompile(const panto::repl::EngineOptions& options, const std::string& header,
                                                   const std::string& output, const std::string& dependencies) {
  return panto::repl::precompile(options, header, output, dependencies);
}
