"""Made-up upstreams, their changes, our changes, and what has to come out, known without asking rebasekit."""
