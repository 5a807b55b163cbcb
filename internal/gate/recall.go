package gate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"ralph-loop/internal/config"
	"ralph-loop/internal/git"
)

// A hook on a tree that was judged before is to cost no more than a look: the index file itself tells the tree, and what
// else git would be asked, the baseline's tree and the configuration in force, never changes for that tree and that HEAD.
// It is kept beside the answers. Everything that may change is looked at as ever: every layer's key is made anew.

// facts are what git said of a tree and of the commit that it is measured against.
type facts struct {
	BaseTree string `json:"base_tree"`
	Tracked  bool   `json:"tracked"` // the tree holds a ralph.yaml
	Config   []byte `json:"config,omitempty"`
}

func factsKey(tree, head string) string {
	sum := sha256.Sum256([]byte("facts 1 " + tree + " " + head))
	return hex.EncodeToString(sum[:])
}

// Recall is FindTrees and ReadConfig for the commit in the making, without any process. ok is false where something has to
// be found out; inTheMaking is as for FindTrees. No requirement may be in work.
func Recall(repo *git.Repo, inTheMaking bool) (t Trees, c *config.Config, ok bool) {
	tree, ok := repo.TreeOfIndex()
	if !ok {
		return t, nil, false
	}
	if merged, err := repo.NamedMergeHeads(); err != nil || len(merged) > 0 {
		return t, nil, false
	}
	e, ok := newCache(repo, nil).read(factsKey(tree, repo.HeadAtOpen))
	if !ok || e.Facts == nil {
		return t, nil, false
	}
	t = Trees{Head: repo.HeadAtOpen, Base: repo.HeadAtOpen, BaseTree: e.Facts.BaseTree, Tree: tree, Staged: e.Facts.BaseTree != tree}
	if !t.Staged && !inTheMaking {
		return t, nil, false // HEAD is judged, against what has to be found
	}
	data := e.Facts.Config
	if !e.Facts.Tracked {
		var err error
		if data, err = ownConfig(repo, false); err != nil {
			return t, nil, false
		}
	}
	c, err := config.Read(config.File, data)
	return t, c, err == nil
}

// Remember keeps what Recall needs. t comes from FindTrees, without a base of somebody's choice. That it could not be kept
// costs time later and nothing else.
func Remember(ctx context.Context, repo *git.Repo, t Trees, now func() time.Time) {
	if t.BaseTree == "" || len(t.Others) > 0 || t.Base != repo.HeadAtOpen {
		return
	}
	data, tracked, err := trackedConfig(ctx, repo, t.Tree, t.Tree)
	if err != nil {
		return
	}
	_ = newCache(repo, now).write(CacheEntry{Key: factsKey(t.Tree, t.Base), Name: "trees", Tree: t.Tree, Facts: &facts{t.BaseTree, tracked, data}})
}
