//go:build unix

package git

import "golang.org/x/sys/unix"

// plainFile: a link is not followed, and neither a pipe nor a device is waited for.
const plainFile = unix.O_NOFOLLOW | unix.O_NONBLOCK
