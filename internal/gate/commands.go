package gate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph-loop/internal/exit"
	"ralph-loop/internal/failpoint"
	"ralph-loop/internal/lazyregexp"
	"ralph-loop/internal/run"
)

// errTool is a step that did not come to an answer: its program is missing, or it was ended.
type errTool struct{ why, advice string }

func (e *errTool) Error() string { return e.why }

func asTool(err error) (*errTool, bool) { return errors.AsType[*errTool](err) }

// ran is a step that ran to its own end.
type ran struct {
	code   int
	stdout string // file
	stderr string // file
}

// exec runs one step in the copy. What it prints goes to two files of the scratch folder. A step that could not
// answer gives an *errTool.
func (j *judge) exec(ctx context.Context, s Step) (ran, error) {
	out := ran{stdout: filepath.Join(j.scratch(), "stdout"), stderr: filepath.Join(j.scratch(), "stderr")}
	j.seen = nil
	if err := freshScratch(j.scratch()); err != nil {
		return out, err
	}
	stdout, err := os.Create(out.stdout)
	if err != nil {
		return out, fmt.Errorf("make room for the output: %w", err)
	}
	defer stdout.Close()
	stderr, err := os.Create(out.stderr)
	if err != nil {
		return out, fmt.Errorf("make room for the output: %w", err)
	}
	defer stderr.Close()
	limit := time.Duration(j.Config.Gate.Timeout)
	command := run.Command{Args: s.Args, Dir: filepath.Join(j.copied.Dir, filepath.FromSlash(s.Dir)), Env: j.toolEnvironment(),
		Stdout: stdout, Stderr: stderr, Timeout: limit, ID: fmt.Sprintf("gate-%d-%s", os.Getpid(), j.Tree), Alone: j.Alone}
	if j.Alone {
		j.Repo.EndLookups() // a child of ours that is not the step's
	}
	ended, err := command.Run(ctx)
	if err != nil {
		return out, err
	}
	out.code = ended.Code
	switch ended.Why {
	case run.Canceled:
		return out, context.Cause(ctx)
	case run.NotFound:
		return out, &errTool{fmt.Sprintf("tool not found: %q", s.Args[0]), "install it, or put it on PATH"}
	case run.TimedOut:
		return out, &errTool{fmt.Sprintf("timeout: %q ran longer than %s", s.String(), limit), "look for a test or tool that waits for ever; gate.timeout raises the limit"}
	case run.Flooded:
		return out, &errTool{fmt.Sprintf("%q printed more than %d MB", s.String(), run.MaxOutput>>20), "make it print less"}
	case run.Signaled:
		return out, &errTool{fmt.Sprintf("%q was ended by signal %d", s.String(), ended.Code-exit.Signal), "see the log; the machine may have run out of memory"}
	}
	// A shell gives 127 and 126 for a command that it could not start.
	if len(s.Args) == 3 && s.Args[0] == "sh" && (ended.Code == 127 || ended.Code == 126) {
		return out, &errTool{fmt.Sprintf("tool not found: %q (exit code %d)", s.Line, ended.Code), "install it, or put it on PATH"}
	}
	return out, nil
}

func (j *judge) toolEnvironment() []string {
	var own []string
	for _, kv := range j.Environ {
		// A workspace named by an absolute path is the worktree's, not the copy's.
		if value, ok := strings.CutPrefix(kv, "GOWORK="); ok && value != "off" {
			continue
		}
		if strings.HasPrefix(kv, "RALPH_HOOK=") { // a test may commit somewhere itself
			continue
		}
		own = append(own, kv)
	}
	tmp := filepath.Join(j.scratch(), "tmp")
	return run.Environment(own, append(j.copied.Env(), "TMPDIR="+tmp)...)
}

// freshScratch empties the folder for tools' output and temporary files.
func freshScratch(dir string) error {
	removeScratch(dir)
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o700); err != nil {
		return fmt.Errorf("make the folder for temporary files: %w", err)
	}
	return nil
}

// removeScratch removes a folder of which tests may have made parts read-only.
func removeScratch(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}

// logs are kept for people to read, the newest of them.
const keptLogs = 60

// logFile opens the log of a layer's run on a tree, to add to it.
func (j *judge) logFile(layer, tree string) (*os.File, error) {
	dir := filepath.Join(j.Repo.StateDir(), "logs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for logs: %w", err)
	}
	name := filepath.Join(dir, fmt.Sprintf("%s-%s.log", tree[:min(12, len(tree))], layer))
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if !j.logs[name] {
		flags |= os.O_TRUNC
		j.logs[name] = true
		pruneLogs(dir)
	}
	f, err := os.OpenFile(name, flags, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	failpoint.Step("open a log")
	return f, nil
}

func pruneLogs(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) < keptLogs {
		return
	}
	times := map[string]time.Time{}
	var names []string
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			times[e.Name()] = info.ModTime()
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { return times[b].Compare(times[a]) })
	for _, name := range names[min(keptLogs/2, len(names)):] {
		_ = os.Remove(filepath.Join(dir, name))
	}
}

// appendFile copies a step's output into a log.
func appendFile(log io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(log, f)
	return err
}

// The forms in which tools name a place: gcc's, which most share, and TypeScript's.
var (
	placeColon = lazyregexp.New(`^(?:vet: )?([^\s:][^:]*):(\d+)(?::(\d+))?:\s*(.+)$`)
	placeParen = lazyregexp.New(`^([^\s(][^(]*)\((\d+),(\d+)\):\s*(.+)$`)
)

// diagnostics reads what a tool printed: findings with their place, and the end of what has none.
func (j *judge) diagnostics(s Step, files ...string) (found []Finding, rest string, err error) {
	var tail []string
	for _, name := range files {
		err := eachLine(name, func(line string) {
			line = strings.TrimRight(clean(line), " \t")
			m := placeColon.FindStringSubmatch(line)
			if m == nil {
				m = placeParen.FindStringSubmatch(line)
			}
			if m != nil {
				if p, ok := j.pathInTree(s, m[1]); ok {
					found = append(found, Finding{Path: p, Line: number(m[2]), Rule: ruleOf(s), Message: m[4]})
					return
				}
			}
			if last := len(found) - 1; last >= 0 && strings.HasPrefix(line, "\t") && len(found[last].Message) < 1000 {
				found[last].Message += "\n" + line
				return
			}
			if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "# ") {
				if tail = append(tail, line); len(tail) > 200 {
					tail = append(tail[:20:20], tail[len(tail)-100:]...)
				}
			}
		})
		if err != nil {
			return nil, "", err
		}
	}
	return found, headTail(strings.Join(tail, "\n"), 2000), nil
}

func ruleOf(s Step) string {
	if s.kind == typecheck && len(s.Args) > 1 && s.Args[0] == "go" {
		return "go vet"
	}
	return s.Line
}

// pathInTree turns a path that a tool printed into one of the tree. Only a file that is there is one.
func (j *judge) pathInTree(s Step, name string) (string, bool) {
	return pathBelow(j.copied.Dir, s.Dir, name)
}

// pathBelow is pathInTree for the tree that lies in the folder top; a relative name is meant from its folder dir on.
func pathBelow(top, dir, name string) (string, bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(top, filepath.FromSlash(dir), name)
	}
	rel, err := filepath.Rel(top, name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		return "", false
	}
	return path.Clean(filepath.ToSlash(rel)), true
}

// withoutTop makes paths of the copy in a text paths of the tree: a runner that names its files (node) names them so.
func (j *judge) withoutTop(text string) string {
	return strings.ReplaceAll(text, j.copied.Dir+string(filepath.Separator), "")
}

// maxLine is how much of a line of output is looked at, in bytes.
const maxLine = 1 << 20

// eachLine hands over each line of a file without its end. Of a line that is longer than maxLine only that much is.
func eachLine(name string, do func(line string)) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	defer f.Close()
	return eachLineOf(f, do)
}

func eachLineOf(in io.Reader, do func(line string)) error {
	r := bufio.NewReaderSize(in, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := maxLine - len(line); len(part) > room {
			line = append(line, part[:room]...)
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > 0 || err == nil {
			do(strings.TrimRight(string(line), "\r\n"))
		}
		line = line[:0]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output: %w", err)
		}
	}
}

// number reads digits that a pattern has matched; one too large to be a line is 0.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
