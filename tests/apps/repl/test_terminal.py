"""A person at a terminal: editing, completion, history, Ctrl-C, a window that changes its size."""
import os
import pathlib
import sys
import tempfile
import time
import unittest

try:
    import pexpect
except ImportError:  # Debian's package serves Debian's Python only
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import pexpect
    except ImportError:
        pexpect = None

from test_sessions import ENGINES, PANTO, there


class Terminal(unittest.TestCase):
    def setUp(self):
        if pexpect is None:
            self.skipTest("Python's pexpect is missing: apt-get install python3-pexpect")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, engine, colours=False):
        if not there(engine):
            self.skipTest(f"{engine} was not built: ./dev repl --engine {engine}")
        environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        environment |= {"PANTO_HISTORY": str(self.folder / "history"), "TERM": "xterm", "INPUTRC": "/dev/null"}
        if not colours:
            environment["NO_COLOR"] = "1"
        self.panto = pexpect.spawn(str(PANTO), ["repl", "--engine", engine], env=environment, cwd=str(self.folder),
                                   encoding="utf-8", timeout=60, dimensions=(30, 200))
        self.addCleanup(lambda: self.panto.close(force=True))
        self.expect("1> ")

    def expect(self, text):
        self.panto.expect_exact(text)

    def type(self, line, answer, prompt):
        self.panto.sendline(line)
        if answer:
            self.expect(answer)
        self.expect(prompt)

    def leave(self):
        self.panto.sendeof()
        self.panto.expect(pexpect.EOF)
        self.panto.close()
        self.assertEqual(self.panto.exitstatus, 0)

    def editing(self, engine):
        self.start(engine)
        self.type("Tensor t = tensor({{1.f, 2.f}, {3.f, 4.f}});", "", "2> ")
        self.panto.sendline("for (int i = 0; i < 2; ++i) {")
        self.expect(".. ")
        self.panto.sendline("  std::cout << i + 40 << ' ';")
        self.expect(".. ")
        self.type("}", "40 41 ", "3> ")
        self.panto.send("tt\x01\x1b[C\x7f + t\x05;\x7f")  # to the front, forward, rub out; to the end
        self.panto.sendline("")
        self.expect("> ")
        self.panto.send("\x1b[A\x1b[A")  # two lines up
        self.expect("std::cout")
        self.panto.sendintr()
        self.expect("> ")
        self.panto.setwinsize(40, 60)
        time.sleep(0.2)
        self.panto.sendline("t * 2.0f")
        self.expect("[6. 8.]]")
        self.expect("> ")
        self.leave()
        self.start(engine)  # the history lasts
        self.panto.send("\x1b[A")
        self.expect("t * 2.0f")
        self.panto.sendline("")
        self.expect("undeclared identifier 't'")
        self.expect("> ")
        self.leave()

    def colours(self, engine):
        self.start(engine, colours=True)
        self.expect("\x1b[0m")  # the prompt's
        self.panto.send("const int n = 42; // no text")
        self.expect("\x1b7\r\x1b[3C\x1b[1;34mconst\x1b[0m \x1b[36mint\x1b[0m n = \x1b[35m42\x1b[0m;\x1b[2m // no text\x1b[0m\x1b8")
        self.panto.send("\x01\x0bTensor t = // goes on\r")
        self.expect(".. ")
        self.panto.send('load("a' + "b" * 200)  # two lines: the cursor is in the second
        self.expect('\x1b7\x1b[1A\r\x1b[3Cload(\x1b[32m"a' + "b" * 200 + "\x1b[0m\x1b8")
        self.panto.sendintr()
        self.expect("> ")
        self.panto.send(":time 1 +")
        self.expect("\x1b[33m:time\x1b[0m 1 +")
        self.panto.sendintr()
        self.expect("> ")
        self.panto.sendline("nothing")
        self.expect("\x1b[31minput 1:1:1: error")
        self.expect("> ")
        self.leave()

    def completes(self, prompt, *pairs):
        """What is typed, and what it becomes; then the line is given up."""
        for typed, completed in pairs:
            self.panto.send(typed)
            self.expect(completed)
            self.panto.sendintr()
            self.expect(prompt)

    def completion(self, engine):
        self.start(engine)
        self.type("Tensor trial = tensor({1.f, 2.f});", "", "2> ")
        self.completes("2> ", ("tria\t", "trial"), ("trial.nby\t", "trial.nbytes("), ("panto::matm\t", "panto::matmul("),
                       ("softp\t", "softplus("), (":und\t", ":undo "))
        self.type("Tensor t = ones({2});", "", "3> ")  # whatever a variable was made of
        self.completes("3> ", ("t.nby\t", "t.nbytes("), ('f(")").x = ones({2}).nby\t', ".nbytes("))
        (self.folder / "some_file.npy").touch()
        self.completes("3> ", ('read_npy("some_f\t', "some_file.npy"))
        self.type("std::vector<int> v = {1}; std::map<int, int> m; std::string s;", "", "4> ")
        self.completes("4> ", ("v.push_b\t", "v.push_back("), ("m.upper\t", "m.upper_bound("), ("s.subs\t", "s.substr("),
                       ("std::cer\t", "std::cerr"), ("std::getli\t", "std::getline"))
        self.leave()

    def stopping(self, engine):
        self.start(engine)
        self.type("Tensor big = random_normal({500, 500}, {.seed = 1});", "", "2> ")
        self.type("int kept = 42;", "", "3> ")
        for loop, why in (("while (true) big = matmul(big, big) * 0.01f;", "interrupted: Cancelled"),
                          ("while (true) { GradientTape tape; big = matmul(big, big) * 0.01f; }", "interrupted: Cancelled"),
                          # Half a minute's work in one op.
                          ("matmul(ones({10000, 10000}), ones({10000, 10000})).shape()", "interrupted: Cancelled"),
                          ("while (true) {}", "interrupted"),
                          ("volatile long n = 0; while (n >= 0) n = n + 1;", "interrupted")):
            self.panto.sendline(loop)
            time.sleep(3)  # it is compiled, and runs
            self.panto.sendintr()
            self.expect(why)
            self.expect("> ")
            self.panto.sendline("kept")
            self.expect("42\r\n")
            self.expect("> ")
        self.panto.sendline("matmul(big, big).shape()")
        self.expect("[500,500]")
        self.expect("> ")
        self.leave()

    def crashing(self, engine):
        self.start(engine)
        self.type("int kept = 42;", "", "2> ")
        self.type("*(int*)nullptr = 1;", "segmentation fault: the session was started anew", "3> ")
        self.type("kept", "42", "4> ")
        self.type("int f(int n) { volatile int a[100] = {}; return f(n + 1) + a[0]; }", "", "5> ")
        self.type("f(0)", "segmentation fault", "> ")
        self.type("kept", "42", "> ")
        self.leave()


for name in ("editing", "colours", "completion", "stopping", "crashing"):
    for engine in ENGINES:
        slow = engine != ENGINES[0] or name in ("stopping", "crashing")

        def test(self, name=name, engine=engine, slow=slow):
            if slow and not os.environ.get("PANTO_SLOW"):
                self.skipTest("waits for seconds: ./dev test slow")
            getattr(self, name)(engine)
        setattr(Terminal, f"test_{name}_on_{engine}", test)


if __name__ == "__main__":
    unittest.main()
