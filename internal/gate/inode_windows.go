package gate

import "os"

// Size, time and path must do.
func inode(os.FileInfo) uint64 { return 0 }
