//go:build !failpoint || !unix

// Package failpoint names the moments at which a crash would leave something half done: a Step follows each change of a
// file or a ref that the programs make. In a usual build it does nothing at all. With -tags failpoint a test can stop a
// program at any of them and kill whom it likes, and can move the programs' clock.
package failpoint

import "time"

// Step is passed right after a change of a file or a ref, which what names.
func Step(what string) {}

// Clock is the clock of a program.
func Clock(now func() time.Time) func() time.Time { return now }
