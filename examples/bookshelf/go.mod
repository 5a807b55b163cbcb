module bookshelf

go 1.26
