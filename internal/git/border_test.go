package git

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestBorderAndMergeHeads(t *testing.T) {
	w := newWork(t)
	repo := w.open()
	n := 0
	commit := func(parents ...string) string {
		n++ // two commits alike would be one
		args := []string{"commit-tree", "-m", strconv.Itoa(n)}
		for _, p := range parents {
			args = append(args, "-p", p)
		}
		return w.git(append(args, w.git("mktree"))...)
	}
	root := commit()
	a, b := commit(root), commit(root)
	merge := commit(a, b)
	tip := commit(merge)
	for _, c := range []struct {
		known []string
		want  []string
	}{
		{nil, nil},
		{[]string{root}, []string{root}},
		{[]string{a}, []string{a}},          // root lies behind a
		{[]string{a, b}, []string{a, b}},    // both sides of the merge
		{[]string{tip, a}, []string{tip}},   // it is there already
		{[]string{commit()}, []string(nil)}, // nothing in common
	} {
		got, err := repo.Border(t.Context(), tip, c.known)
		slices.Sort(got)
		slices.Sort(c.want)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("with %v: %v, %v, want %v", c.known, got, err, c.want)
		}
	}

	w.git("update-ref", "HEAD", a)
	heads := func(env ...string) string {
		got, err := repo.With(env...).MergeHeads(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(got, " ")
	}
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, ""},
		{[]string{"GITHEAD_" + b + "=side"}, b},
		{[]string{"GITHEAD_" + root + "=old"}, ""}, // HEAD holds it
		{[]string{"GITHEAD_nonsense=x"}, ""},
	} {
		if got := heads(c.env...); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
	w.git("update-ref", "MERGE_HEAD", b)
	if got := heads(); got != b {
		t.Errorf("MERGE_HEAD: %q", got)
	}
}
