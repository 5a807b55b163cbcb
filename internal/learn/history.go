package learn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ralph-loop/internal/failpoint"
)

// HistoryFile is the name of the history: one JSON object a line, only ever appended to.
const HistoryFile = "learnings-history.jsonl"

// maxHistory is how much of the history's end is read, in bytes: about 20,000 learnings.
const maxHistory = 8 << 20

// AppendHistory adds entries to the history in dir and returns when they are on the disk. It comes before the windows
// are stored: a crash between the two leaves an entry in both places, never in none.
func AppendHistory(dir string, entries []HistoryEntry) error {
	if len(entries) == 0 {
		return nil
	}
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	enc.SetEscapeHTML(false)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("write the history of learnings: %w", err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, HistoryFile), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("write the history of learnings: %w", err)
	}
	defer f.Close()
	// A crash in the middle of a line must not spoil the next one.
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			lines = *bytes.NewBuffer(append([]byte{'\n'}, lines.Bytes()...))
		}
	}
	if _, err := f.Write(lines.Bytes()); err != nil {
		return fmt.Errorf("write the history of learnings: %w", err)
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("write the history of learnings: %w", err)
	}
	failpoint.Step("append to the history")
	return f.Close()
}

// ReadHistory is the history in dir, oldest first, each learning once, the newest 8 MB of it. Lines that are not whole
// are left out and counted. No file is an empty history.
func ReadHistory(dir string) (entries []HistoryEntry, spoiled int, err error) {
	f, err := os.Open(filepath.Join(dir, HistoryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the history of learnings: %w", err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, fmt.Errorf("read the history of learnings: %w", err)
	}
	from := max(0, size-maxHistory)
	data, err := io.ReadAll(io.NewSectionReader(f, from, size-from))
	if err != nil {
		return nil, 0, fmt.Errorf("read the history of learnings: %w", err)
	}
	if from > 0 {
		_, data, _ = bytes.Cut(data, []byte{'\n'})
	}
	entries, spoiled = parseHistory(data)
	return entries, spoiled, nil
}

// parseHistory is the history in data, oldest first, each learning once; spoiled lines are left out.
func parseHistory(data []byte) (entries []HistoryEntry, spoiled int) {
	seen := map[string]int{} // position in entries by identity
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var e HistoryEntry
		if json.Unmarshal(line, &e) != nil || e.ID == "" {
			spoiled++
			continue
		}
		// The same learning may expire again, with more evidence; a crash may have written it twice. What counted once
		// stays so when a blocked requirement reports it again, and not when it is undone.
		if i, ok := seen[e.ID]; ok {
			if !e.Unproven || entries[i].Unproven || e.undone() {
				entries[i] = e
			}
			continue
		}
		seen[e.ID] = len(entries)
		entries = append(entries, e)
	}
	return entries, spoiled
}
