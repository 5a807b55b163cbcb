test "$(sh lib/ready.sh)" = ready
