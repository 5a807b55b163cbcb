// Package lazyregexp is a regular expression that is compiled when it is first used. The programs are started a dozen
// times for each requirement; to compile every expression of every package at each start took longer than the rest of it.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression as of package regexp, whose methods are its own.
type Regexp struct{ compiled func() *regexp.Regexp }

// New is the expression; one that does not compile panics at its first use.
func New(expression string) *Regexp {
	return &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

// Match is that of regexp.Regexp, as are the others.
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

func (r *Regexp) FindStringIndex(s string) []int { return r.compiled().FindStringIndex(s) }

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

func (r *Regexp) FindAllString(s string, n int) []string { return r.compiled().FindAllString(s, n) }

func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

func (r *Regexp) ReplaceAllString(s, by string) string { return r.compiled().ReplaceAllString(s, by) }

// QuoteMeta is that of package regexp.
func QuoteMeta(s string) string { return regexp.QuoteMeta(s) }
