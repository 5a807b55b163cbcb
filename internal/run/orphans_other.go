//go:build !linux

package run

import "time"

// Orphans cannot be adopted here.

func adopt() bool { return false }

func release() {}

func reap(int) bool { return false }

func endDescendants(int, time.Duration, <-chan error) {}
