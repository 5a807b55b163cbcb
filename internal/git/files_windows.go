package git

// plainFile: no folder holds what opening would wait for; a link's content has another hash than the link.
const plainFile = 0
