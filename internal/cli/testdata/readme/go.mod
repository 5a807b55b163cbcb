module greet

go 1.26
