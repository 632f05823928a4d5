-- Requests spread evenly over the rules of one host, in random order; every request is rendered once.
local requests = {}

function init(args)
  local rules = tonumber(args[1])
  math.randomseed(7)
  for rule = 0, rules - 1 do
    local path = rules == 1 and "/" or string.format("/service-%05d", rule)
    requests[rule + 1] = wrk.format("GET", path, {["Host"] = "bench.example"})
  end
end

function request()
  return requests[math.random(#requests)]
end

function done(summary, latency, _)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
  print(string.format("figures %d %.1f %d %d %d", summary.requests,
    summary.requests / (summary.duration / 1e6), latency:percentile(99), failed, summary.bytes))
end
